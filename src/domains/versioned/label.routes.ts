import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { moveLabel, removeLabel } from './change-labels.ts';
import { actingFor, calledIn, calledParam, type Exposure, reading, writing } from './exposure.ts';
import { itemSchema, itemToWire, labelMoveSchema } from './item-output.schema.ts';
import type { ItemKind } from './kind.ts';
import { listLabelMovesPage } from './list-label-moves-page.ts';
import { labelName, projectParams, versionNumber } from './params.schema.ts';

const { endpoint } = endpointsFor<Principal>();

/** Returns the endpoints of labels: point a label at a version, remove it, list its history. */
export function labelEndpoints<Content>(exposure: Exposure<Content>) {
  return [putEndpoint(exposure), deleteEndpoint(exposure), historyEndpoint(exposure)];
}

const labelParams = (kind: ItemKind) => projectParams.extend({ ...calledParam(kind), label: labelName });

function putEndpoint<Content>({ collection, title, path }: Exposure<Content>) {
  const { kind } = collection;
  return endpoint({
    ...writing,
    operationId: `put${title}Label`,
    method: 'PUT',
    path: `${path}/{${kind.idColumn}}/labels/{label}`,
    summary: `Point a label at a version of a ${kind.noun}`,
    tag: `${kind.noun}s`,
    params: labelParams(kind),
    body: z.strictObject({ version: versionNumber }),
    responses: {
      200: {
        description: 'Where the label points now',
        schema: itemSchema.extend({ label: z.string(), version: z.int() }),
      },
    },
    problems: ['project_not_found', kind.notFound, 'version_not_found', 'part_cycle', 'template_limit'],
    handle: async ({ principal, params, body, requestId }) => {
      const label = String(params.label);
      const { version } = body;
      const called = calledIn(kind, params);
      const item = await moveLabel(collection, { ...actingFor(principal, requestId), called, label, version });
      return { status: 200, body: { ...itemToWire(item), label, version } };
    },
  });
}

function deleteEndpoint<Content>({ collection, title, path }: Exposure<Content>) {
  const { kind } = collection;
  return endpoint({
    ...writing,
    operationId: `delete${title}Label`,
    method: 'DELETE',
    path: `${path}/{${kind.idColumn}}/labels/{label}`,
    summary: `Take a label off a ${kind.noun}`,
    description: 'Its history stays.',
    tag: `${kind.noun}s`,
    params: labelParams(kind),
    responses: { 204: { description: 'It is gone' } },
    problems: ['project_not_found', kind.notFound, 'label_not_found'],
    handle: async ({ principal, params, requestId }) => {
      const acting = actingFor(principal, requestId);
      await removeLabel(collection, { ...acting, called: calledIn(kind, params), label: String(params.label) });
      return { status: 204 };
    },
  });
}

function historyEndpoint<Content>(exposure: Exposure<Content>) {
  const { collection, title, path, read } = exposure;
  const { kind } = collection;
  return endpoint({
    ...reading,
    operationId: `list${title}LabelHistory`,
    path: `${path}/{${kind.idColumn}}/labels/{label}/history`,
    summary: `Where a label of a ${kind.noun} has pointed, newest first`,
    tag: `${kind.noun}s`,
    params: labelParams(kind),
    query: z.strictObject(pageParams),
    responses: { 200: { description: 'A page of moves', schema: listOf(labelMoveSchema) } },
    problems: ['project_not_found', kind.notFound, 'invalid_cursor', 'cursor_mismatch'],
    handle: async ({ principal, params, query }) => {
      const item = await read(projectOf(principal), calledIn(kind, params));
      return { status: 200, body: await listLabelMovesPage(exposure, item, { ...query, label: String(params.label) }) };
    },
  });
}
