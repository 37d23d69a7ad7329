/**
 * Maximum members of a set in a summary. A summary is read for every row of a list, so what the
 * spans of a trace add to it is bounded.
 */
export const setMembersMax = 64;
const setCharsMax = 8_192;

/**
 * Returns the first members of a set that fit into a summary, and the number of those that do not.
 * `charsOf` returns the length of a member in UTF-16 code units.
 */
export function boundSet<T>(members: readonly T[], charsOf: (member: T) => number): { kept: T[]; omitted: number } {
  const kept: T[] = [];
  let chars = 0;
  for (const member of members) {
    chars += charsOf(member);
    if (kept.length >= setMembersMax || chars > setCharsMax) break;
    kept.push(member);
  }
  return { kept, omitted: members.length - kept.length };
}
