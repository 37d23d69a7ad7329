import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { moveLabel, removeLabel } from './change-labels.ts';
import { etagOf } from './item.ts';
import { itemToWire, labeledItemSchema, labelMoveSchema } from './item-output.schema.ts';
import type { ItemKind } from './kind.ts';
import { listLabelMovesPage } from './list-label-moves-page.ts';
import { labelName, projectParams, versionNumber } from './params.schema.ts';
import { actingFor, type ItemResource, idOrSlugIn, idOrSlugParam, reading, writing } from './resource.ts';

const { endpoint } = endpointsFor<Principal>();

/** Returns the endpoints of labels: point a label at a version, remove it, list its history. */
export function labelEndpoints<Content>(resource: ItemResource<Content>) {
  return [putEndpoint(resource), deleteEndpoint(resource), historyEndpoint(resource)];
}

const labelParams = (kind: ItemKind) => projectParams.extend({ ...idOrSlugParam(kind), label: labelName });

const ofTag = ({ noun }: ItemKind) =>
  `\`If-Match\` is compared with the entity tag of the ${noun}, as read for the newest version, for the version that has the label, or, in a PUT, for the version that gets it. It changes when any label moves. With \`*\`, the label must exist.`;

function putEndpoint<Content>({ collection, title, path }: ItemResource<Content>) {
  const { kind } = collection;
  return endpoint({
    ...writing,
    operationId: `put${title}Label`,
    method: 'PUT',
    path: `${path}/{${kind.idColumn}}/labels/{label}`,
    summary: `Point a label at a version of a ${kind.noun}`,
    description: ofTag(kind),
    tag: `${kind.noun}s`,
    params: labelParams(kind),
    body: z.strictObject({ version: versionNumber }),
    conditional: true,
    responses: { 200: { description: 'The version that the label points to', schema: labeledItemSchema } },
    problems: ['project_not_found', kind.notFound, 'version_not_found', 'part_cycle', 'template_limit'],
    handle: async ({ principal, params, body, requestId, ifMatch }) => {
      const label = String(params.label);
      const { version } = body;
      const idOrSlug = idOrSlugIn(kind, params);
      const acting = actingFor(principal, requestId);
      const item = await moveLabel(collection, { ...acting, idOrSlug, label, version, ifMatch });
      return { status: 200, body: { ...itemToWire(item), label, version }, etag: etagOf(item, item.latestVersion) };
    },
  });
}

function deleteEndpoint<Content>({ collection, title, path }: ItemResource<Content>) {
  const { kind } = collection;
  return endpoint({
    ...writing,
    operationId: `delete${title}Label`,
    method: 'DELETE',
    path: `${path}/{${kind.idColumn}}/labels/{label}`,
    summary: `Remove a label from a ${kind.noun}`,
    description: `The history of the label is kept. ${ofTag(kind)}`,
    tag: `${kind.noun}s`,
    params: labelParams(kind),
    conditional: true,
    responses: { 204: { description: 'The label is removed' } },
    problems: ['project_not_found', kind.notFound, 'label_not_found'],
    handle: async ({ principal, params, requestId, ifMatch }) => {
      const acting = actingFor(principal, requestId);
      const label = String(params.label);
      await removeLabel(collection, { ...acting, idOrSlug: idOrSlugIn(kind, params), label, ifMatch });
      return { status: 204 };
    },
  });
}

function historyEndpoint<Content>(resource: ItemResource<Content>) {
  const { collection, title, path, read } = resource;
  const { kind } = collection;
  return endpoint({
    ...reading,
    operationId: `list${title}LabelHistory`,
    path: `${path}/{${kind.idColumn}}/labels/{label}/history`,
    summary: `List the versions that a label of a ${kind.noun} pointed to, newest first`,
    tag: `${kind.noun}s`,
    params: labelParams(kind),
    query: z.strictObject(pageParams),
    responses: { 200: { description: 'A page of the history of the label', schema: listOf(labelMoveSchema) } },
    problems: ['project_not_found', kind.notFound, 'invalid_cursor', 'cursor_mismatch'],
    handle: async ({ principal, params, query }) => {
      const item = await read(projectOf(principal), idOrSlugIn(kind, params));
      return { status: 200, body: await listLabelMovesPage(resource, item, { ...query, label: String(params.label) }) };
    },
  });
}
