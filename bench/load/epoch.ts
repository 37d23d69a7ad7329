/** Milliseconds since the epoch with fractions: monotonic, and the same in every process of the machine. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}
