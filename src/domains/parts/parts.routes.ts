import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import type { TemplateThreads } from '../templates/index.ts';
import {
  actingFor,
  changesFrom,
  createItem,
  etagOf,
  type ItemCache,
  type ItemResource,
  idOrSlugIn,
  itemParams,
  itemResource,
  itemSummaryToWire,
  newItemFrom,
  projectParams,
  reading,
  writing,
} from '../versioned/index.ts';
import { itemEndpoints } from '../versioned/item.routes.ts';
import { filtersFrom, listItemsPage, listQuery, updateItem } from '../versioned/versioned.routes.ts';
import { listPartUsagePage } from './list-part-usage-page.ts';
import { type PartContent, partKind } from './part.ts';
import { partCollection } from './part-collection.ts';
import {
  createPartBody,
  partSchema,
  partSummarySchema,
  partToWire,
  partUserSchema,
  partVersionSchema,
  partVersionToWire,
  updatedPartSchema,
  updatePartBody,
} from './parts.schema.ts';

export interface PartsDeps {
  cache: ItemCache<PartContent>;
  postgres: Postgres;
  invalidations: Invalidations;
  threads: TemplateThreads;
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();
const path = '/api/projects/{project_id}/parts';
const tag = 'parts';
const templateProblems = ['invalid_template', 'template_limit', 'part_cycle', 'workspace_busy', 'server_busy'] as const;

type PartsExposure = ItemResource<PartContent>;

/** Returns all endpoints of parts. */
export function partsEndpoints(deps: PartsDeps) {
  const resource = itemResource(deps, {
    collection: partCollection(deps),
    path,
    title: 'Part',
    itemAtSchema: partSchema,
    versionSchema: partVersionSchema,
    itemAtToWire: partToWire,
    versionToWire: partVersionToWire,
  });
  return [
    listEndpoint(deps),
    createEndpoint(resource),
    getEndpoint(resource),
    updateEndpoint(resource),
    ...itemEndpoints(resource, {
      description:
        'The request is refused if the newest version or a labeled version of a prompt or of another part includes this part.',
      problems: ['part_in_use'],
    }),
    usageEndpoint(resource),
  ];
}

function listEndpoint(deps: PartsDeps) {
  return endpoint({
    ...reading,
    operationId: 'listParts',
    path,
    summary: 'List the parts of a project',
    tag,
    params: projectParams,
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of parts', schema: listOf(partSummarySchema) } },
    problems: ['project_not_found', 'invalid_cursor', 'cursor_mismatch', 'workspace_busy', 'server_busy'],
    handle: async (call) => {
      const { limit, cursor, sort, ...filters } = call.query;
      const of = { project: projectOf(call.principal), waiter: call };
      const page = { ...of, filters: filtersFrom(filters), sort, limit, cursor };
      return { status: 200, body: await listItemsPage(deps, partKind, page, itemSummaryToWire) };
    },
  });
}

function createEndpoint(resource: PartsExposure) {
  return endpoint({
    ...writing,
    operationId: 'createPart',
    method: 'POST',
    path,
    summary: 'Create a part',
    tag,
    params: projectParams,
    body: createPartBody,
    responses: { 201: { description: 'The part with version 1', schema: partSchema } },
    problems: ['project_not_found', 'slug_taken', ...templateProblems],
    handle: async (call) => {
      const { principal, body, requestId } = call;
      const created = await createItem(resource.collection, {
        ...actingFor(principal, requestId, call),
        ...newItemFrom(body),
        content: { template: body.template, templateFormat: body.template_format },
      });
      return { status: 201, body: partToWire(created), etag: etagOf(created.item, 1) };
    },
  });
}

function getEndpoint(resource: PartsExposure) {
  return endpoint({
    ...reading,
    operationId: 'getPart',
    path: `${path}/{part_id}`,
    summary: 'Get a part with its newest version',
    tag,
    params: itemParams(partKind),
    conditional: true,
    responses: { 200: { description: 'The part', schema: partSchema } },
    problems: ['project_not_found', 'part_not_found'],
    handle: async ({ principal, params }) => {
      const project = projectOf(principal);
      const item = await resource.read(project, idOrSlugIn(partKind, params));
      const version = await resource.readVersion(project, item, item.latestVersion);
      return { status: 200, body: partToWire({ item, version }), etag: etagOf(item, version.version) };
    },
  });
}

function updateEndpoint(resource: PartsExposure) {
  return endpoint({
    ...writing,
    operationId: 'updatePart',
    method: 'PUT',
    path: `${path}/{part_id}`,
    summary: 'Change a part',
    description:
      'An absent field does not change. Null clears a field. A changed template creates a new version. The same template does not.',
    tag,
    params: itemParams(partKind),
    body: updatePartBody,
    conditional: true,
    responses: { 200: { description: 'The changed part', schema: updatedPartSchema } },
    problems: [
      ...(['project_not_found', 'part_not_found', 'version_conflict', 'precondition_failed'] as const),
      ...(['slug_taken', 'part_in_use'] as const),
      ...templateProblems,
    ],
    handle: async (call) => {
      const { principal, params, body, requestId, ifMatch } = call;
      const updated = await updateItem(resource.collection, {
        ...actingFor(principal, requestId, call),
        idOrSlug: idOrSlugIn(partKind, params),
        ...changesFrom(body),
        ifMatch,
        merge: (newest) =>
          body.template === undefined && body.template_format === undefined
            ? newest
            : {
                template: body.template ?? newest.template,
                templateFormat: body.template_format ?? newest.templateFormat,
              },
      });
      const wire = { ...partToWire(updated), created_version: updated.createdVersion };
      return { status: 200, body: wire, etag: etagOf(updated.item, updated.version.version) };
    },
  });
}

function usageEndpoint(resource: PartsExposure) {
  const { collection, cursorSecret } = resource;
  return endpoint({
    ...reading,
    operationId: 'listPartUsage',
    lane: 'lists',
    path: `${path}/{part_id}/usage`,
    summary: 'List the versions of prompts and parts that include a part, directly or through other parts',
    tag,
    params: itemParams(partKind),
    query: z.strictObject(pageParams),
    responses: { 200: { description: 'A page of users', schema: listOf(partUserSchema) } },
    problems: ['project_not_found', 'part_not_found', 'invalid_cursor', 'cursor_mismatch'],
    handle: async ({ principal, params, query }) => {
      const part = await resource.read(projectOf(principal), idOrSlugIn(partKind, params));
      const body = await listPartUsagePage({ postgres: collection.postgres, cursorSecret }, part, query);
      return { status: 200, body };
    },
  });
}
