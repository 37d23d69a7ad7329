import { z } from 'zod';

/**
 * Accepted algorithms, for the two sources of keys: the shared secret and the published keys. All
 * others are rejected, above all `none`.
 */
export const algorithms = ['HS256', 'RS256', 'ES256'] as const;

export type Algorithm = (typeof algorithms)[number];

/**
 * Keys in the token or referenced by it (`jwk`, `jku`, `x5c`, `x5u`) are ignored. `crit` names
 * extensions that must be understood (RFC 7515, 4.1.11). None is supported, so the field is
 * rejected.
 */
const header = z.object({
  alg: z.enum(algorithms),
  kid: z.string().max(255).optional(),
  crit: z.undefined().optional(),
});

export type TokenHeader = z.infer<typeof header>;

/** Reads the unverified header of a token. Returns undefined when the token cannot be valid. */
export function readTokenHeader(token: string): TokenHeader | undefined {
  const end = token.indexOf('.');
  if (end < 1) return undefined;
  try {
    return header.safeParse(JSON.parse(Buffer.from(token.slice(0, end), 'base64url').toString())).data;
  } catch {
    return undefined;
  }
}
