import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { etagOf } from './item.ts';
import { listVersionsPage } from './list-versions-page.ts';
import { projectParams, versionNumber } from './params.schema.ts';
import { versionParam } from './query.schema.ts';
import { actingFor, type ItemResource, idOrSlugIn, idOrSlugParam, itemParams, reading, writing } from './resource.ts';
import { rollBackItem } from './roll-back-item.ts';

const { endpoint } = endpointsFor<Principal>();

/** Returns the endpoints of versions: list, get and rollback. */
export function versionEndpoints<Content>(resource: ItemResource<Content>) {
  return [listEndpoint(resource), getEndpoint(resource), rollbackEndpoint(resource)];
}

const listQuery = z.strictObject({
  ...pageParams,
  limit: pageParams.limit.meta({
    description: 'The largest number of versions on a page. A page whose contents would exceed 2 MiB has fewer',
  }),
});

function listEndpoint<Content>(resource: ItemResource<Content>) {
  const { collection, title, path, read, versionSchema } = resource;
  const { kind } = collection;
  return endpoint({
    ...reading,
    operationId: `list${title}Versions`,
    path: `${path}/{${kind.idColumn}}/versions`,
    summary: `List the versions of a ${kind.noun}, newest first`,
    tag: `${kind.noun}s`,
    params: itemParams(kind),
    query: listQuery,
    responses: { 200: { description: 'A page of versions', schema: listOf(versionSchema) } },
    problems: ['project_not_found', kind.notFound, 'invalid_cursor', 'cursor_mismatch'],
    handle: async ({ principal, params, query }) => {
      const item = await read(projectOf(principal), idOrSlugIn(kind, params));
      return { status: 200, body: await listVersionsPage(resource, item, query) };
    },
  });
}

function getEndpoint<Content>(resource: ItemResource<Content>) {
  const { collection, title, path, read, readVersion, versionSchema } = resource;
  const { kind } = collection;
  return endpoint({
    ...reading,
    operationId: `get${title}Version`,
    path: `${path}/{${kind.idColumn}}/versions/{version}`,
    summary: `Get one version of a ${kind.noun}`,
    description: `A version never changes. If the path has the id of the ${kind.noun}, a private cache may keep the response without limit.`,
    tag: `${kind.noun}s`,
    params: projectParams.extend({ ...idOrSlugParam(kind), version: versionParam }),
    conditional: true,
    responses: { 200: { description: 'The version', schema: versionSchema } },
    problems: ['project_not_found', kind.notFound, 'version_not_found'],
    handle: async ({ principal, params }) => {
      const idOrSlug = idOrSlugIn(kind, params);
      const project = projectOf(principal);
      const item = await read(project, idOrSlug);
      const version = await readVersion(project, item, Number(params.version));
      const etag = `${item.id}.${version.version}.${version.contentHash.slice(0, 16)}`;
      // Not for a slug, because another item may get it later.
      const caching = idOrSlug === item.id ? { immutable: true as const } : {};
      return { status: 200, body: resource.versionToWire(version), etag, ...caching };
    },
  });
}

const rollbackBody = z.strictObject({
  version: versionNumber.meta({ description: 'The version whose content the new version gets' }),
  commit_message: z.string().max(2_000).nullish(),
  base_version: versionNumber.optional(),
});

function rollbackEndpoint<Content>(resource: ItemResource<Content>) {
  const { collection, title, path, itemAtSchema } = resource;
  const { kind } = collection;
  return endpoint({
    ...writing,
    operationId: `rollback${title}`,
    method: 'POST',
    path: `${path}/{${kind.idColumn}}/rollback`,
    summary: `Create a new version of a ${kind.noun} with the content of an earlier version`,
    description: 'Existing versions do not change. The given version may be the newest one.',
    tag: `${kind.noun}s`,
    params: itemParams(kind),
    body: rollbackBody,
    conditional: true,
    responses: { 201: { description: `The ${kind.noun} with its new version`, schema: itemAtSchema } },
    problems: [
      ...(['project_not_found', 'version_not_found', 'version_conflict', 'precondition_failed'] as const),
      ...([kind.notFound, 'part_cycle', 'template_limit', 'workspace_busy', 'server_busy'] as const),
    ],
    handle: async (call) => {
      const { principal, params, body, requestId, ifMatch } = call;
      const rolledBack = await rollBackItem(collection, {
        ...actingFor(principal, requestId, call),
        idOrSlug: idOrSlugIn(kind, params),
        version: body.version,
        commitMessage: body.commit_message ?? null,
        baseVersion: body.base_version,
        ifMatch,
      });
      const etag = etagOf(rolledBack.item, rolledBack.version.version);
      return { status: 201, body: resource.itemAtToWire(rolledBack), etag };
    },
  });
}
