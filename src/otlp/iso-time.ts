const isoTime = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,18}))?([Zz]|[+-]\d{2}:\d{2})?$/;

/**
 * Converts an ISO 8601 time to nanoseconds since 1970. A time without a zone is UTC. Digits below
 * nanoseconds are cut off. Returns undefined for any other text.
 */
export function readIsoTime(text: string): bigint | undefined {
  const [, date, time, fraction = '', zone = 'Z'] = isoTime.exec(text) ?? [];
  const ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(ms)) return undefined;
  return BigInt(ms) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}
