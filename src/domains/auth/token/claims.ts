import { z } from 'zod';
import { isStorableText } from '../../../lib/storable-text.ts';

const identifier = z.string().min(1).max(255).refine(isStorableText);
/** Only displayed to people, so an invalid value is omitted and does not reject the token. */
const display = (charsMax: number) =>
  z.string().min(1).max(charsMax).refine(isStorableText).optional().catch(undefined);

const claims = z.object({
  sub: identifier,
  exp: z.number(),
  /** The organization of the identity provider that the user acts in. */
  org_id: identifier.nullish(),
  email: display(320),
  name: display(200),
});

/** The claims of a verified token. */
export interface TokenClaims {
  subject: string;
  expiresAtMs: number;
  orgId: string | undefined;
  email: string | undefined;
  name: string | undefined;
}

/** Reads the claims. Returns undefined when a required claim is missing or invalid. */
export function readClaims(payload: unknown): TokenClaims | undefined {
  const parsed = claims.safeParse(payload);
  if (!parsed.success) return undefined;
  const { sub, exp, org_id, email, name } = parsed.data;
  return { subject: sub, expiresAtMs: exp * 1000, orgId: org_id ?? undefined, email, name };
}
