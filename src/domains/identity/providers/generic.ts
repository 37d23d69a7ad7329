import { z } from 'zod';
import { externalId, nameOf } from './event-text.ts';
import { roleNamed } from './provider-role.ts';
import { type ChangeReaders, changeReader } from './read-change.ts';
import { standardProvider } from './standard-provider.ts';

const text = z.string().nullish();

const membership = changeReader(
  z.looseObject({ organization_id: externalId, user_id: externalId, role: text }),
  (verb, data) => ({
    kind: 'membership',
    verb,
    organizationId: data.organization_id,
    subject: data.user_id,
    role: roleNamed(data.role),
    active: verb !== 'deleted',
  }),
);

const readers: ChangeReaders = {
  user: changeReader(z.looseObject({ id: externalId, email: text, name: text }), (verb, data) => ({
    kind: 'user',
    verb,
    subject: data.id,
    email: data.email ?? null,
    name: nameOf(data.name),
  })),
  organization: changeReader(
    z.looseObject({ id: externalId, name: text, created_by: externalId.nullish() }),
    (verb, data) => ({
      kind: 'organization',
      verb,
      organizationId: data.id,
      name: nameOf(data.name) ?? data.id.slice(0, 200),
      createdBy: data.created_by ?? null,
    }),
  ),
  organizationMembership: membership,
  organization_membership: membership,
};

/** Any sender of Standard Webhooks. docs/identity.md describes the payloads. */
export const generic = standardProvider(readers);
