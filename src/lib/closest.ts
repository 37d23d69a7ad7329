/**
 * Returns the candidate most similar to `word` for "did you mean", or undefined when none is near
 * enough to be a typing error (a third of the letters).
 */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const lowered = word.slice(0, lengthMax).toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(lowered.length / 3)) + 1;
  for (const candidate of candidates) {
    // Each letter that one of them has more is an edit.
    if (Math.abs(lowered.length - Math.min(candidate.length, lengthMax)) >= bestDistance) continue;
    const distance = editDistance(lowered, candidate.slice(0, lengthMax).toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

const lengthMax = 64;

/**
 * Computes the optimal string alignment distance: Levenshtein's edits plus swapped neighbors
 * (Damerau 1964). Keeps three rows at a time.
 */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : replaced;
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1));
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}

const at = (row: readonly number[], index: number) => row[index] ?? Number.POSITIVE_INFINITY;
