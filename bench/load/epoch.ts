/**
 * Returns milliseconds since the epoch with fractions. The value is monotonic and the same in all
 * processes of the machine.
 */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}
