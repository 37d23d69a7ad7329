const nanosPerMs = 1_000_000n;

/** RFC 3339 UTC with milliseconds of nanoseconds since the epoch; any unsigned 64-bit number of them fits. */
export function isoFromUnixNano(unixNano: bigint): string {
  return new Date(Number(unixNano / nanosPerMs)).toISOString();
}

/** In July 2554. */
const lastUnixNano = 2n ** 64n - 1n;

/** Nanoseconds since the epoch of a point in time; one before 1970 or after 2554 counts as the nearest that fits 64 bits. */
export function unixNanoFromDate(date: Date): bigint {
  const unixNano = BigInt(Math.max(0, date.getTime())) * nanosPerMs;
  return unixNano < lastUnixNano ? unixNano : lastUnixNano;
}

/** The end that a span's duration is counted to: without a start, or ending before it, it took no time. */
export function endOfSpan({ startUnixNano, endUnixNano }: { startUnixNano: bigint; endUnixNano: bigint }): bigint {
  return startUnixNano === 0n || endUnixNano < startUnixNano ? startUnixNano : endUnixNano;
}

/** Milliseconds between two nanosecond times, with the decimals; an end before its start is 0. */
export function durationMs(startUnixNano: bigint, endUnixNano: bigint): number {
  return endUnixNano <= startUnixNano ? 0 : msFromNano(endUnixNano - startUnixNano);
}

/** Milliseconds of nanoseconds, with the decimals. */
export function msFromNano(nano: bigint): number {
  return Number(nano) / 1e6;
}
