import fc from 'fast-check';
import { standardHeaders } from '../../support/identity-webhooks.ts';
import type { Sizes } from '../values/hostile.ts';
import { mutated } from '../values/mutate.ts';
import { toJsonText } from '../values/raw-json.ts';

const kinds = [
  'user.created',
  'user.updated',
  'user.deleted',
  'organization.created',
  'organization.deleted',
  'organizationMembership.created',
  '__proto__',
];

const event = fc.record({
  type: fc.constantFrom(...kinds),
  timestamp: fc.constant(1_760_000_000_000),
  data: fc.record({
    id: fc.constantFrom('user_fuzz', 'org_fuzz'),
    name: fc.constant('Fuzz'),
    role: fc.constantFrom('org:admin', 'viewer', 'none'),
    email_addresses: fc.constant([{ email_address: 'fuzz@example.test' }]),
    organization: fc.constant({ id: 'org_fuzz', name: 'Fuzz' }),
    public_user_data: fc.constant({ user_id: 'user_fuzz' }),
    created_at: fc.constantFrom<unknown>(1_760_000_000_000, '2026-01-01T00:00:00Z'),
    updated_at: fc.constantFrom<unknown>(1_760_000_000_000, '2026-01-01T00:00:00Z'),
  }),
});

/**
 * Events of identity providers with faulty values and a valid signature. Events with an invalid
 * signature are not read.
 */
export function identityEventBody(sizes: Sizes) {
  return fc.oneof(event, mutated(event, sizes)).chain((value) => {
    const bytes = Buffer.from(toJsonText(value));
    return fc.constantFrom('svix' as const, 'webhook' as const).map((prefix) => ({
      bytes,
      headers: { 'Content-Type': 'application/json', ...standardHeaders(bytes, prefix) },
    }));
  });
}
