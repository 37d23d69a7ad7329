import { z } from 'zod';

/** The two ways a key is found: the shared secret or the published keys. Nothing else is an algorithm here, `none` least of all. */
export const algorithms = ['HS256', 'RS256', 'ES256'] as const;

export type Algorithm = (typeof algorithms)[number];

/**
 * Keys that a token brings along or points at (`jwk`, `jku`, `x5c`, `x5u`) are never looked at. `crit` names extensions that must be
 * understood (RFC 7515, 4.1.11); none are.
 */
const header = z.object({
  alg: z.enum(algorithms),
  kid: z.string().max(255).optional(),
  crit: z.undefined().optional(),
});

export type TokenHeader = z.infer<typeof header>;

/** The header of a token, unverified; undefined when it is not one that could be valid. */
export function readTokenHeader(token: string): TokenHeader | undefined {
  const end = token.indexOf('.');
  if (end < 1) return undefined;
  try {
    return header.safeParse(JSON.parse(Buffer.from(token.slice(0, end), 'base64url').toString())).data;
  } catch {
    return undefined;
  }
}
