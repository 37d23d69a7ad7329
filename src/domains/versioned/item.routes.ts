import { endpointsFor } from '../../http/endpoint.ts';
import type { ProblemCode } from '../../lib/problem-codes.ts';
import type { Principal } from '../auth/index.ts';
import { deleteItem } from './delete-item.ts';
import { labelEndpoints } from './label.routes.ts';
import { actingFor, type ItemResource, idOrSlugIn, itemParams, writing } from './resource.ts';
import { versionEndpoints } from './version.routes.ts';

const { endpoint } = endpointsFor<Principal>();

/** Returns the endpoints that every kind of item has: deletion, versions and labels. */
export function itemEndpoints<Content>(resource: ItemResource<Content>, ofDelete: OfDelete) {
  return [deleteEndpoint(resource, ofDelete), ...versionEndpoints(resource), ...labelEndpoints(resource)];
}

interface OfDelete {
  description: string;
  problems?: readonly ProblemCode[];
}

function deleteEndpoint<Content>({ collection, title, path }: ItemResource<Content>, said: OfDelete) {
  const { kind } = collection;
  return endpoint({
    ...writing,
    operationId: `delete${title}`,
    method: 'DELETE',
    path: `${path}/{${kind.idColumn}}`,
    summary: `Delete a ${kind.noun}`,
    description: said.description,
    tag: `${kind.noun}s`,
    params: itemParams(kind),
    conditional: true,
    responses: { 204: { description: 'The item is deleted' } },
    problems: ['project_not_found', kind.notFound, 'precondition_failed', ...(said.problems ?? [])],
    handle: async ({ principal, params, requestId, ifMatch }) => {
      const acting = actingFor(principal, requestId);
      await deleteItem(collection, { ...acting, idOrSlug: idOrSlugIn(kind, params), ifMatch });
      return { status: 204 };
    },
  });
}
