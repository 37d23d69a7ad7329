import { z } from 'zod';
import { parseBody } from '../../../http/validate.ts';
import type { IdentityProvider, ReceivedEvent } from '../identity-provider.ts';
import { externalId, nameOf } from './event-text.ts';
import { changedAtMs, eventTime } from './event-time.ts';
import { roleNamed } from './provider-role.ts';
import { type ChangeReaders, changeReader, readChange } from './read-change.ts';
import { verifyWorkosSignature, workosSentAtMs } from './workos-signature.ts';

const text = z.string().nullish();

const membership = z.looseObject({
  organization_id: externalId,
  user_id: externalId,
  role: z.looseObject({ slug: text }).nullish(),
  status: text,
});

const readers: ChangeReaders = {
  user: changeReader(
    z.looseObject({ id: externalId, email: text, first_name: text, last_name: text }),
    (verb, data) => ({
      kind: 'user',
      verb,
      subject: data.id,
      email: data.email ?? null,
      name: nameOf(data.first_name, data.last_name),
    }),
  ),
  organization: changeReader(z.looseObject({ id: externalId, name: text }), (verb, data) => ({
    kind: 'organization',
    verb,
    organizationId: data.id,
    name: nameOf(data.name) ?? data.id.slice(0, 200),
    createdBy: null,
  })),
  organization_membership: changeReader(membership, (verb, data) => ({
    kind: 'membership',
    verb,
    organizationId: data.organization_id,
    subject: data.user_id,
    role: roleNamed(data.role?.slug),
    // `pending` is an invitation, `inactive` a suspended membership.
    active: verb !== 'deleted' && (data.status ?? 'active') === 'active',
  })),
};

const envelope = z.looseObject({ id: externalId, event: z.string().min(1) });
const times = z.looseObject({
  created_at: eventTime.nullish(),
  data: z.looseObject({ updated_at: eventTime.nullish() }),
});

const extractType = ({ payload }: ReceivedEvent) => parseBody(envelope, payload).event;

/** WorkOS. The payloads follow workos.com/docs/events: `{id, event, data, created_at}`. */
export const workos: IdentityProvider = {
  verify: verifyWorkosSignature,
  extractId: ({ payload }) => parseBody(envelope, payload).id,
  extractType,
  extractOccurredAt: (event) => {
    const { data, created_at: eventAtMs } = parseBody(times, event.payload);
    const sentAtMs = workosSentAtMs(event.headers);
    return changedAtMs(extractType(event), { updatedAtMs: data.updated_at, eventAtMs, sentAtMs });
  },
  toChange: (event) => readChange(readers, extractType(event), event.payload),
};
