/** Natural logarithm of the gamma function for x > 0 (Lanczos approximation, g = 7, n = 9; relative error below 1e-14). */
function logGamma(x: number): number {
  const [first = 0, ...others] = lanczos;
  const sum = others.reduce((total, coefficient, index) => total + coefficient / (x + index), first);
  const shifted = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(shifted) - shifted + Math.log(sum);
}

const lanczos = [
  0.999_999_999_999_809_93, 676.520_368_121_885_1, -1_259.139_216_722_402_8, 771.323_428_777_653_13,
  -176.615_029_162_140_59, 12.507_343_278_686_905, -0.138_571_095_265_720_12, 9.984_369_578_019_571_6e-6,
  1.505_632_735_149_311_6e-7,
];

/**
 * Returns the two-sided p-value of Fisher's exact test for two proportions: the sum of the
 * probabilities of all tables with the same margins that are at most as probable as the given one
 * (R. A. Fisher, 1935; as `fisher.test` of R). Tables further than ten standard deviations from the
 * mean are left out: all of them together have a probability below 1e-20. O(square root of the sizes).
 */
export function fisherExact(a: { hits: number; size: number }, b: { hits: number; size: number }): number {
  const hits = a.hits + b.hits;
  const size = a.size + b.size;
  const logChoose = (n: number, k: number) => logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);
  const logProbability = (k: number) => logChoose(a.size, k) + logChoose(b.size, hits - k) - logChoose(size, hits);
  const mean = (hits * a.size) / size;
  const deviation = Math.sqrt((mean * (b.size / size) * (size - hits)) / Math.max(1, size - 1));
  const farMax = 10 * deviation + 50;
  const first = Math.max(0, hits - b.size, Math.floor(mean - farMax));
  const last = Math.min(a.size, hits, Math.ceil(mean + farMax));
  // As in R, tables that are as probable but for rounding count.
  const limit = logProbability(a.hits) + 1e-7;
  let sum = 0;
  let each = logProbability(first);
  for (let k = first; k <= last; k++) {
    if (each <= limit) sum += Math.exp(each);
    each += Math.log(((a.size - k) * (hits - k)) / ((k + 1) * (b.size - hits + k + 1)));
  }
  return Math.min(1, sum);
}

/** Size, mean and variance of a sample. */
export interface Sample {
  size: number;
  mean: number;
  /** Of the sample, with `size - 1`. */
  variance: number;
}

/**
 * Returns the two-sided p-value of Welch's t-test, with the degrees of freedom of Welch and
 * Satterthwaite (B. L. Welch, 1947). 1 if both samples are constant and equal; 0 if they are
 * constant and differ.
 */
export function welch(a: Sample, b: Sample): number {
  const [errorA, errorB] = [a.variance / a.size, b.variance / b.size];
  const error = errorA + errorB;
  // Sums of equal values differ in their last digits, and so do means and variances made of them.
  const rounding = 1e-12 * (a.mean ** 2 + b.mean ** 2);
  if (error <= rounding) return (a.mean - b.mean) ** 2 <= rounding ? 1 : 0;
  const t = (a.mean - b.mean) / Math.sqrt(error);
  const freedom = error ** 2 / (errorA ** 2 / (a.size - 1) + errorB ** 2 / (b.size - 1));
  return incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

/**
 * Returns the p-values corrected for their number, in their order (S. Holm, 1979): the probability of
 * at least one false result among them is then at most the level of significance.
 */
export function holm(pValues: readonly number[]): number[] {
  const order = pValues.map((p, index) => ({ p, index })).sort((x, y) => x.p - y.p);
  const corrected = new Array<number>(pValues.length).fill(1);
  let largest = 0;
  for (const [rank, { p, index }] of order.entries()) {
    largest = Math.max(largest, Math.min(1, p * (pValues.length - rank)));
    corrected[index] = largest;
  }
  return corrected;
}

/**
 * The regularized incomplete beta function I_x(a, b), by its continued fraction with Lentz's method
 * (Numerical Recipes, 3rd edition, 6.4).
 */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? (front * fraction(x, a, b)) / a : 1 - (front * fraction(1 - x, b, a)) / b;
}

const stepsMax = 10_000;
const tiny = 1e-300;

function fraction(x: number, a: number, b: number): number {
  const away = (value: number) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= stepsMax; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-14) break;
  }
  return result;
}
