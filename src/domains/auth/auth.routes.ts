import { endpointsFor } from '../../http/endpoint.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { contextSchema } from './auth.schema.ts';
import { describeContext } from './describe-context.ts';
import type { Principal } from './principal.ts';

const { endpoint } = endpointsFor<Principal>();

/** Creates the endpoint that describes the caller. */
export function authEndpoints(deps: { postgres: Postgres }) {
  return [
    endpoint({
      operationId: 'getContext',
      method: 'GET',
      path: '/api/me/context',
      summary: 'Describe the caller: its identity, workspace and scopes',
      description:
        'A token acts in the organization that its `org_id` names. Without `org_id` it acts in the personal workspace of its user. ' +
        'An API key has access to its own project only.',
      tag: 'auth',
      access: { authenticated: true },
      rateClass: 'read',
      responses: { 200: { description: 'The caller', schema: contextSchema } },
      handle: async ({ principal }) => ({ status: 200, body: await describeContext(deps, principal) }),
    }),
  ];
}
