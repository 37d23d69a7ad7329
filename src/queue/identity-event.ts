import { z } from 'zod';

const externalId = z.string().min(1).max(255);
const verb = z.enum(['created', 'updated', 'deleted']);

/**
 * The content of an identity event in a form that is the same for all providers. The ids are those
 * of the provider.
 */
const identityChange = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('user'),
    verb,
    subject: externalId,
    email: z.string().nullable(),
    name: z.string().nullable(),
  }),
  z.strictObject({
    kind: z.literal('organization'),
    verb,
    organizationId: externalId,
    name: z.string().min(1).max(200),
    /** Subject of the user who created the organization, if the provider sends it. */
    createdBy: externalId.nullable(),
  }),
  z.strictObject({
    kind: z.literal('membership'),
    verb,
    organizationId: externalId,
    subject: externalId,
    role: z.enum(['viewer', 'member', 'admin', 'owner']),
    /**
     * Whether the user is in the organization after this change. An invitation that is not accepted
     * does not count.
     */
    active: z.boolean(),
  }),
]);

const identityProviderName = z.enum(['clerk', 'workos', 'generic']);

/**
 * A verified event that waits to be applied. `occurredAtMs` is the time when the provider changed
 * the object; it defines the order of events.
 */
export const applyIdentityEventPayload = z.strictObject({
  v: z.literal(1),
  provider: identityProviderName,
  eventId: externalId,
  type: z.string(),
  occurredAtMs: z.int(),
  change: identityChange,
});

export type IdentityVerb = z.infer<typeof verb>;
export type IdentityChange = z.infer<typeof identityChange>;
export type IdentityProviderName = z.infer<typeof identityProviderName>;
export type IdentityEvent = z.infer<typeof applyIdentityEventPayload>;

const rank: Readonly<Record<IdentityVerb, number>> = { created: 0, updated: 1, deleted: 2 };

/**
 * Returns the time of a statement as RFC 3339 with microseconds. Providers use milliseconds. The
 * digits below order statements of the same millisecond: created, then updated, then deleted.
 */
export function sourceTime(occurredAtMs: number, verb: IdentityVerb): string {
  return new Date(occurredAtMs).toISOString().replace('Z', `00${rank[verb]}Z`);
}
