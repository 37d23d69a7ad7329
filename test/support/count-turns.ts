/** Does a work, and counts how often other work could run meanwhile. */
export async function countTurns<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  let timer = setImmediate(count);
  function count() {
    turns++;
    timer = setImmediate(count);
  }
  try {
    return { result: await work(), turns };
  } finally {
    clearImmediate(timer);
  }
}
