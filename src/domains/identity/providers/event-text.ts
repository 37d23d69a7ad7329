import { z } from 'zod';

export const externalId = z.string().min(1).max(255);

const nameCharsMax = 200;

/**
 * Joins the words of a name, skips missing ones and cuts at 200 characters. Returns null when
 * nothing is left.
 */
export function nameOf(...parts: readonly (string | null | undefined)[]): string | null {
  const words = parts.flatMap((part) => part?.trim() || []);
  // Count code points, as Postgres does, so that no character is split.
  return [...words.join(' ')].slice(0, nameCharsMax).join('').trim() || null;
}
