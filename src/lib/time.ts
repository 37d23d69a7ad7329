const nanosPerMs = 1_000_000n;

/**
 * Formats nanoseconds since the epoch as RFC 3339 UTC with milliseconds. Accepts any unsigned
 * 64-bit number.
 */
export function isoFromUnixNano(unixNano: bigint): string {
  return new Date(Number(unixNano / nanosPerMs)).toISOString();
}

/** In ms since the epoch. Nanoseconds of later times do not fit 64 bits. */
export const endOfTimesMs = Date.UTC(2554, 0);

/** The largest unsigned 64-bit number of nanoseconds, which is in July 2554. */
const lastUnixNano = 2n ** 64n - 1n;

/**
 * Returns the nanoseconds since the epoch of a date. A date before 1970 or after 2554 becomes the
 * nearest value that fits 64 bits.
 */
export function unixNanoFromDate(date: Date): bigint {
  const unixNano = BigInt(Math.max(0, date.getTime())) * nanosPerMs;
  return unixNano < lastUnixNano ? unixNano : lastUnixNano;
}

/**
 * Returns the end used for a span's duration. A span without a start, or with an end before its
 * start, has no duration.
 */
export function endOfSpan({ startUnixNano, endUnixNano }: { startUnixNano: bigint; endUnixNano: bigint }): bigint {
  return startUnixNano === 0n || endUnixNano < startUnixNano ? startUnixNano : endUnixNano;
}

/**
 * Returns the milliseconds between two nanosecond times, with decimals. An end before its start
 * gives 0.
 */
export function durationMs(startUnixNano: bigint, endUnixNano: bigint): number {
  return endUnixNano <= startUnixNano ? 0 : msFromNano(endUnixNano - startUnixNano);
}

/** Converts nanoseconds to milliseconds, with decimals. */
export function msFromNano(nano: bigint): number {
  return Number(nano) / 1e6;
}

/**
 * Returns the name by which Intl knows a time zone of the IANA database; undefined if there is none. Luxon must get
 * this name only: it remembers every spelling that it is given, without a bound.
 */
export function canonicalTimeZone(name: string): string | undefined {
  // Later versions of Node also take offsets, such as +05:30.
  if (!/^[a-z]/i.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** Returns the CPU time of all threads of the process, in milliseconds. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
