const nanosPerMs = 1_000_000n;

/** RFC 3339 UTC with milliseconds of nanoseconds since the epoch; any unsigned 64-bit number of them fits. */
export function isoFromUnixNano(unixNano: bigint): string {
  return new Date(Number(unixNano / nanosPerMs)).toISOString();
}

/** Nanoseconds since the epoch of a point in time; before 1970 counts as 1970. */
export function unixNanoFromDate(date: Date): bigint {
  return BigInt(Math.max(0, date.getTime())) * nanosPerMs;
}

/** Milliseconds between two nanosecond times, with the decimals; an end before its start is 0. */
export function durationMs(startUnixNano: bigint, endUnixNano: bigint): number {
  return endUnixNano <= startUnixNano ? 0 : Number(endUnixNano - startUnixNano) / 1e6;
}
