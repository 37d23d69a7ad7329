/** Sizes of variables that determine what a check of them costs. Lengths are in UTF-16 units. */
export interface VariableSizes {
  /** Texts, numbers, lists and objects, and the variables themselves. */
  values: number;
  textCharacters: number;
  /** Characters of the keys on the longest path. */
  longestPath: number;
}

/** Measures variables that have few values. */
export function sizesOf(variables: unknown): VariableSizes {
  const open: { value: unknown; path: number }[] = [{ value: variables, path: 0 }];
  const sizes = { values: 0, textCharacters: 0, longestPath: 0 };
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const { value, path } = each;
    sizes.values++;
    sizes.longestPath = Math.max(sizes.longestPath, path);
    if (typeof value === 'string') sizes.textCharacters += value.length;
    else if (typeof value === 'object' && value !== null)
      for (const [key, below] of Object.entries(value)) open.push({ value: below, path: path + key.length });
  }
  return sizes;
}
