const isoTime = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,18}))?([Zz]|[+-]\d{2}:\d{2})?$/;

/** Nanoseconds since 1970 of an ISO 8601 time, UTC when it names no zone; undefined when it is none. Past nanoseconds it is cut. */
export function readIsoTime(text: string): bigint | undefined {
  const [, date, time, fraction = '', zone = 'Z'] = isoTime.exec(text) ?? [];
  const ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(ms)) return undefined;
  return BigInt(ms) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}
