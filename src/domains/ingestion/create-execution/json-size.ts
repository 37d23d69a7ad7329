/** Returns a value as it is stored: a string unchanged, anything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Returns the bytes of {@link textOf} in UTF-8. */
export function byteLengthOf(value: unknown): number {
  return Buffer.byteLength(textOf(value));
}

/**
 * Returns the levels of objects and arrays: 0 for a scalar. Bodies are at most 64 levels deep, so
 * recursion is safe.
 */
export function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((most, each) => Math.max(most, depthOf(each)), 0);
}

/**
 * Returns the path of the first key of more than `charsMax` characters, at any level. Bodies are at most 64
 * levels deep, so recursion is safe.
 */
export function findLongKey(value: unknown, charsMax: number): PropertyKey[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, each] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    if (typeof key === 'string' && key.length > charsMax) return [key];
    const below = findLongKey(each, charsMax);
    if (below !== undefined) return [key, ...below];
  }
  return undefined;
}
