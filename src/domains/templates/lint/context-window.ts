import { calcPrice } from '@pydantic/genai-prices';
import { LRUCache } from 'lru-cache';

const memo = new LRUCache<string, { window: number | undefined }>({ max: 1_000 });

/** Tokens a model takes at most, from the table of genai-prices; undefined when the table does not say. */
export function contextWindowOf(model: string, provider?: string): number | undefined {
  if (model === '' || model.length > 256) return undefined;
  const key = `${provider ?? ''} ${model}`;
  const kept = memo.get(key);
  if (kept !== undefined) return kept.window;
  // The table takes some 0.1 ms to search.
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
