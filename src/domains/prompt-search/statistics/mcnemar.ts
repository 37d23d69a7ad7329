/**
 * Returns the two-sided p-value of the exact test of Q. McNemar (1947) for paired results that are
 * right or wrong: the binomial probability of a split of the differing pairs that is at least this
 * uneven.
 * @param gained pairs that only the second got right
 * @param lost pairs that only the first got right
 */
export function mcnemarExact(gained: number, lost: number): number {
  const pairs = gained + lost;
  const fewer = Math.min(gained, lost);
  let logEach = -pairs * Math.LN2;
  let sum = 0;
  for (let k = 0; k <= fewer; k++) {
    sum += Math.exp(logEach);
    logEach += Math.log((pairs - k) / (k + 1));
  }
  return Math.min(1, 2 * sum);
}
