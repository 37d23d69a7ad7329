import type { Position } from './problems.ts';

/**
 * Returns a function that converts offsets of `source` into a position. The line starts are found
 * once; each look-up is a binary search.
 */
export function indexLines(source: string): (begin: number, end: number) => Position {
  const starts = [0];
  for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) starts.push(at + 1);
  return (begin, end) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((starts[middle] ?? 0) <= begin) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: begin - (starts[low] ?? 0) + 1, length: end - begin };
  };
}
