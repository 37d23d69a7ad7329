import { z } from 'zod';

export const externalId = z.string().min(1).max(255);

const nameCharsMax = 200;

/** Words of a name that may be missing, put together and cut at 200 characters; null when nothing is left. */
export function nameOf(...parts: readonly (string | null | undefined)[]): string | null {
  const words = parts.flatMap((part) => part?.trim() || []);
  // By code points, as Postgres counts, so that no character is cut in two.
  return [...words.join(' ')].slice(0, nameCharsMax).join('').trim() || null;
}
