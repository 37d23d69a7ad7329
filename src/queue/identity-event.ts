import { z } from 'zod';

const externalId = z.string().min(1).max(255);
const verb = z.enum(['created', 'updated', 'deleted']);

/** What an event of an identity provider says, in words of no provider. Ids are the provider's. */
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
    /** Subject of the user who created it, where the provider says so. */
    createdBy: externalId.nullable(),
  }),
  z.strictObject({
    kind: z.literal('membership'),
    verb,
    organizationId: externalId,
    subject: externalId,
    role: z.enum(['viewer', 'member', 'admin', 'owner']),
    /** Whether the user is in the organisation after this; an invitation that is not accepted does not count. */
    active: z.boolean(),
  }),
]);

const identityProviderName = z.enum(['clerk', 'workos', 'generic']);

/** A verified event that waits to be applied. `occurredAtMs` is when the provider changed the object: the order of events. */
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
