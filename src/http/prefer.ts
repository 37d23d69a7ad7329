/** A header has thousands of empty preferences only to cost time. */
const preferencesMax = 64;

/**
 * Returns the seconds of `Prefer: wait=N` (RFC 7240), at most `secondsMax`. Returns undefined when
 * the preference is absent or malformed, because a malformed preference must be ignored. The first
 * of several counts.
 */
export function preferredWaitS(header: string | string[] | undefined, secondsMax: number): number | undefined {
  for (const preference of String(header ?? '').split(',', preferencesMax)) {
    const [name = '', value = ''] = (preference.split(';', 1)[0] ?? '').split('=').map((part) => part.trim());
    if (name.toLowerCase() !== 'wait') continue;
    const digits = /^"?(\d{1,9})"?$/.exec(value)?.[1];
    return digits === undefined ? undefined : Math.min(Number(digits), secondsMax);
  }
  return undefined;
}
