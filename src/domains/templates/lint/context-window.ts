import { calcPrice } from '@pydantic/genai-prices';
import { LRUCache } from 'lru-cache';

const memo = new LRUCache<string, { window: number | undefined }>({ max: 1_000 });

/**
 * Returns how many tokens a model accepts, from the table of genai-prices; undefined when the table
 * does not say.
 */
export function contextWindowOf(model: string, provider?: string): number | undefined {
  if (model === '' || model.length > 256) return undefined;
  const key = `${provider ?? ''} ${model}`;
  const kept = memo.get(key);
  if (kept !== undefined) return kept.window;
  // Searching the table takes about 0.1 ms.
  const window = searchWindow(model, provider);
  memo.set(key, { window });
  return window;
}

function searchWindow(model: string, provider: string | undefined): number | undefined {
  try {
    return calcPrice({}, model, provider === undefined ? {} : { providerId: provider })?.model.context_window;
  } catch {
    return undefined;
  }
}
