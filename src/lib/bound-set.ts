/** A summary is read for every row of a list, so what a trace's spans put into it is bounded. */
export const setMembersMax = 64;
const setCharsMax = 8_192;

/** The first members of a set as far as they fit into a summary, and how many do not. `charsOf` is how long a member is, in UTF-16 units. */
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
