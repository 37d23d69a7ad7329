import { z } from 'zod';

/** What an identifier may hold to be stored as text: neither NUL nor half a surrogate pair. */
const storable = (text: string) => !text.includes('\u0000') && !/\p{Surrogate}/u.test(text);
const identifier = z.string().min(1).max(255).refine(storable);
/** Only shown to people, so that an odd one is left out rather than refused. */
const display = (charsMax: number) => z.string().min(1).max(charsMax).refine(storable).optional().catch(undefined);

const claims = z.object({
  sub: identifier,
  exp: z.number(),
  /** The organisation of the identity provider that the user acts in. */
  org_id: identifier.nullish(),
  email: display(320),
  name: display(200),
});

/** What a verified token says of its bearer. */
export interface TokenClaims {
  subject: string;
  expiresAtMs: number;
  orgId: string | undefined;
  email: string | undefined;
  name: string | undefined;
}

/** Undefined when a claim that is needed is absent or unusable. */
export function readClaims(payload: unknown): TokenClaims | undefined {
  const parsed = claims.safeParse(payload);
  if (!parsed.success) return undefined;
  const { sub, exp, org_id, email, name } = parsed.data;
  return { subject: sub, expiresAtMs: exp * 1000, orgId: org_id ?? undefined, email, name };
}
