/** A value as it fits into a number of bytes of JSON. `isWhole` is false if something of it was left out. */
export interface Fitted {
  /** Undefined if nothing of it fits. */
  value: unknown;
  bytes: number;
  isWhole: boolean;
}

/** Characters of one text. */
const textCharsMax = 500;

/**
 * Cuts texts to 500 characters, and a list to its first elements, until the JSON has at most so many bytes. Of the
 * elements of a list, and of other values, the texts directly within them are cut.
 */
export function fitJson(value: unknown, bytesMax: number): Fitted {
  return Array.isArray(value) ? fitList(value, bytesMax) : fitOne(value, bytesMax);
}

const nothing: Fitted = { value: undefined, bytes: 0, isWhole: false };

function fitList(list: readonly unknown[], bytesMax: number): Fitted {
  if (bytesMax < 2) return nothing;
  const kept: unknown[] = [];
  let bytes = 2;
  let isWhole = true;
  for (const each of list) {
    const fitted = fitOne(each, bytesMax - bytes - 1);
    isWhole &&= fitted.isWhole;
    if (fitted.value === undefined) break;
    kept.push(fitted.value);
    bytes += fitted.bytes + 1;
  }
  return { value: kept, bytes, isWhole };
}

function fitOne(value: unknown, bytesMax: number): Fitted {
  const cut = cutTexts(value);
  const bytes = jsonBytesOf(cut);
  return bytes > bytesMax ? nothing : { value: cut, bytes, isWhole: true };
}

function cutTexts(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return cutText(value);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cutText(member)]));
}

const cutText = (value: unknown) => (typeof value === 'string' ? value.slice(0, textCharsMax) : value);

/** Returns the number of bytes of a value as JSON. */
export function jsonBytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
