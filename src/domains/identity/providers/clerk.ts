import { z } from 'zod';
import { externalId, nameOf } from './event-text.ts';
import { roleNamed } from './provider-role.ts';
import { type ChangeReaders, changeReader } from './read-change.ts';
import { standardProvider } from './standard-provider.ts';

const text = z.string().nullish();

const user = z.looseObject({
  id: externalId,
  email_addresses: z.array(z.looseObject({ id: text, email_address: text })).nullish(),
  primary_email_address_id: text,
  first_name: text,
  last_name: text,
  username: text,
});

const organization = z.looseObject({ id: externalId, name: text, created_by: externalId.nullish() });

const membership = z.looseObject({
  organization: z.looseObject({ id: externalId }),
  public_user_data: z.looseObject({ user_id: externalId }),
  role: text,
});

const readers: ChangeReaders = {
  user: changeReader(user, (verb, data) => ({
    kind: 'user',
    verb,
    subject: data.id,
    email: primaryEmail(data),
    name: nameOf(data.first_name, data.last_name) ?? nameOf(data.username),
  })),
  organization: changeReader(organization, (verb, data) => ({
    kind: 'organization',
    verb,
    organizationId: data.id,
    name: nameOf(data.name) ?? data.id.slice(0, 200),
    createdBy: data.created_by ?? null,
  })),
  organizationMembership: changeReader(membership, (verb, data) => ({
    kind: 'membership',
    verb,
    organizationId: data.organization.id,
    subject: data.public_user_data.user_id,
    role: roleNamed(data.role),
    active: verb !== 'deleted',
  })),
};

/**
 * Clerk. The payloads follow clerk.com/docs/guides/development/webhooks/overview and the JSON types
 * of @clerk/backend. Svix signs them.
 */
export const clerk = standardProvider(readers);

function primaryEmail(data: z.output<typeof user>): string | null {
  const all = data.email_addresses ?? [];
  const primary = all.find(({ id }) => id !== undefined && id === data.primary_email_address_id) ?? all[0];
  return primary?.email_address ?? null;
}
