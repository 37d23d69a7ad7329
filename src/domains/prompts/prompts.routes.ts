import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf } from '../../http/pagination.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import type { TemplateThreads } from '../templates/index.ts';
import {
  actingFor,
  type ChangeHook,
  changesFrom,
  createItem,
  etagOf,
  type ItemCache,
  type ItemResource,
  idOrSlugIn,
  itemParams,
  itemResource,
  newItemFrom,
  projectParams,
  reading,
  writing,
} from '../versioned/index.ts';
import { itemEndpoints } from '../versioned/item.routes.ts';
import {
  filtersFrom,
  listItemsPage,
  listQuery,
  restorableDays,
  restoreItem,
  updateItem,
  versionParam,
} from '../versioned/versioned.routes.ts';
import { diffEndpoint } from './diff.routes.ts';
import { promptCollection } from './prompt-collection.ts';
import { type PromptContent, promptKind, promptTypes } from './prompt-content.ts';
import {
  contentFrom,
  createPromptBody,
  mergeContent,
  promptSchema,
  promptSummarySchema,
  promptSummaryToWire,
  promptToWire,
  promptVersionSchema,
  promptVersionToWire,
  updatedPromptSchema,
  updatePromptBody,
} from './prompts.schema.ts';
import type { ImportDeps } from './transfer/import-lines.ts';
import { transferEndpoints } from './transfer/transfer.routes.ts';

export interface PromptsDeps {
  cache: ItemCache<PromptContent>;
  postgres: Postgres;
  /** For imports and exports. */
  longWork: Postgres;
  invalidations: Invalidations;
  threads: TemplateThreads;
  /** Counts what an import writes. */
  chargeWritten: ImportDeps['chargeWritten'];
  cursorSecret: string;
  /** Runs in the transaction of every change of a prompt. */
  changed: ChangeHook;
}

type PromptsExposure = ItemResource<PromptContent>;

const { endpoint } = endpointsFor<Principal>();
const path = '/api/projects/{project_id}/prompts';
const tag = 'prompts';
const contentProblems = [
  ...(['invalid_template', 'template_limit', 'invalid_input_schema', 'part_cycle'] as const),
  ...(['workspace_busy', 'server_busy'] as const),
] as const;

/** Returns all endpoints of prompts except rendering. */
export function promptsEndpoints(deps: PromptsDeps) {
  const resource = itemResource(deps, {
    collection: promptCollection(deps),
    path,
    title: 'Prompt',
    itemAtSchema: promptSchema,
    versionSchema: promptVersionSchema,
    itemAtToWire: promptToWire,
    versionToWire: promptVersionToWire,
  });
  return [
    listEndpoint(deps),
    createEndpoint(resource),
    getEndpoint(resource),
    updateEndpoint(resource),
    ...itemEndpoints(resource, {
      description: `Executions keep their link to the prompt. It can be restored for ${restorableDays} days.`,
    }),
    restoreEndpoint(resource),
    diffEndpoint(deps.threads, resource),
    ...transferEndpoints({ ...deps, postgres: deps.longWork }),
  ];
}

function listEndpoint(deps: PromptsDeps) {
  return endpoint({
    ...reading,
    operationId: 'listPrompts',
    path,
    summary: 'List and search the prompts of a project',
    tag,
    params: projectParams,
    query: z.strictObject({
      ...listQuery,
      type: z.enum(promptTypes).optional().meta({ description: 'The type of the prompt: text or chat' }),
    }),
    responses: { 200: { description: 'A page of prompts', schema: listOf(promptSummarySchema) } },
    problems: ['project_not_found', 'invalid_cursor', 'cursor_mismatch', 'workspace_busy', 'server_busy'],
    handle: async (call) => {
      const { limit, cursor, sort, type, ...filters } = call.query;
      const of = { project: projectOf(call.principal), waiter: call };
      const equal = type === undefined ? undefined : { type };
      const page = { ...of, filters: { ...filtersFrom(filters), equal }, sort, limit, cursor };
      return { status: 200, body: await listItemsPage(deps, promptKind, page, promptSummaryToWire) };
    },
  });
}

function createEndpoint(resource: PromptsExposure) {
  return endpoint({
    ...writing,
    operationId: 'createPrompt',
    method: 'POST',
    path,
    summary: 'Create a prompt',
    description:
      'Without a slug, the service derives one from the name. A template may name parts that do not exist yet.',
    tag,
    params: projectParams,
    body: createPromptBody,
    responses: { 201: { description: 'The prompt with version 1', schema: promptSchema } },
    problems: ['project_not_found', 'slug_taken', ...contentProblems],
    handle: async (call) => {
      const { principal, body, requestId } = call;
      const created = await createItem(resource.collection, {
        ...actingFor(principal, requestId, call),
        ...newItemFrom(body),
        content: contentFrom(body),
      });
      return { status: 201, body: promptToWire(created), etag: etagOf(created.item, 1) };
    },
  });
}

const pinQuery = z
  .strictObject({
    version: versionParam.optional(),
    label: z
      .string()
      .min(1)
      .max(36)
      .optional()
      .meta({ description: 'The version with this label', example: 'production' }),
  })
  .refine(({ version, label }) => version === undefined || label === undefined, {
    path: ['label'],
    message: 'give either version or label, not both',
  });

function getEndpoint(resource: PromptsExposure) {
  return endpoint({
    ...reading,
    operationId: 'getPrompt',
    path: `${path}/{prompt_id}`,
    summary: 'Get a prompt with one of its versions, by default the newest',
    tag,
    params: itemParams(promptKind),
    query: pinQuery,
    conditional: true,
    responses: { 200: { description: 'The prompt', schema: promptSchema } },
    problems: ['project_not_found', 'prompt_not_found', 'version_not_found', 'label_not_found'],
    handle: async ({ principal, params, query }) => {
      const project = projectOf(principal);
      const { item, number } = await resource.locate(project, idOrSlugIn(promptKind, params), query);
      const version = await resource.readVersion(project, item, number);
      const body = promptToWire({ item, version });
      return { status: 200, body, etag: etagOf(item, version.version) };
    },
  });
}

function updateEndpoint(resource: PromptsExposure) {
  return endpoint({
    ...writing,
    operationId: 'updatePrompt',
    method: 'PUT',
    path: `${path}/{prompt_id}`,
    summary: 'Change a prompt',
    description:
      'An absent field does not change. Null clears a field. Changed content creates a new version. Changed metadata does not. ' +
      '`labels` point to the newest version after the change.',
    tag,
    params: itemParams(promptKind),
    body: updatePromptBody,
    conditional: true,
    responses: { 200: { description: 'The changed prompt', schema: updatedPromptSchema } },
    problems: [
      ...(['project_not_found', 'prompt_not_found', 'version_conflict', 'precondition_failed'] as const),
      ...(['slug_taken', ...contentProblems] as const),
    ],
    handle: async (call) => {
      const { principal, params, body, requestId, ifMatch } = call;
      const updated = await updateItem(resource.collection, {
        ...actingFor(principal, requestId, call),
        ...changesFrom(body),
        idOrSlug: idOrSlugIn(promptKind, params),
        ifMatch,
        merge: (newest) => mergeContent(newest, body),
      });
      const wire = { ...promptToWire(updated), created_version: updated.createdVersion };
      return { status: 200, body: wire, etag: etagOf(updated.item, updated.version.version) };
    },
  });
}

function restoreEndpoint({ collection }: PromptsExposure) {
  return endpoint({
    ...writing,
    operationId: 'restorePrompt',
    method: 'POST',
    path: `${path}/{prompt_id}/restore`,
    summary: 'Restore a deleted prompt',
    description: `A prompt can be restored within ${restorableDays} days after its deletion. It is restored without changes.`,
    tag,
    params: itemParams(promptKind),
    responses: { 200: { description: 'The prompt', schema: promptSchema } },
    problems: ['project_not_found', 'prompt_not_found', 'slug_taken'],
    handle: async ({ principal, params, requestId }) => {
      const idOrSlug = idOrSlugIn(promptKind, params);
      const restored = await restoreItem(collection, { ...actingFor(principal, requestId), idOrSlug });
      const etag = etagOf(restored.item, restored.version.version);
      return { status: 200, body: promptToWire(restored), etag };
    },
  });
}
