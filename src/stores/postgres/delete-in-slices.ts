const msMax = 10 * 60_000;

/**
 * Repeats a statement that deletes at most `rows` rows until it deletes fewer, for at most ten minutes, so that no
 * statement exceeds its time and no job holds its place for long.
 * @returns whether nothing is left
 * @throws what `deleteSlice` throws
 */
export async function deleteInSlices(rows: number, deleteSlice: () => Promise<number>): Promise<boolean> {
  for (const endMs = performance.now() + msMax; performance.now() < endMs; ) {
    if ((await deleteSlice()) < rows) return true;
  }
  return false;
}
