import { calcPrice } from '@pydantic/genai-prices';

/** Tokens a model takes at most, from the table of genai-prices; undefined when the table does not say. */
export function contextWindowOf(model: string, provider?: string): number | undefined {
  if (model === '' || model.length > 256) return undefined;
  try {
    return calcPrice({}, model, provider === undefined ? {} : { providerId: provider })?.model.context_window;
  } catch {
    return undefined;
  }
}
