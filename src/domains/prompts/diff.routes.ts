import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import type { TemplateThreads } from '../templates/index.ts';
import { type ItemResource, idOrSlugIn, itemParams, reading } from '../versioned/index.ts';
import { versionParam } from '../versioned/versioned.routes.ts';
import { type PromptContent, promptContentToWire, promptKind } from './prompt-content.ts';
import { diffSchema } from './prompts.schema.ts';

const { endpoint } = endpointsFor<Principal>();

/** Comparing the largest two versions with nothing in common takes about 300 ms. */
const diffMsMax = 2_000;

/** Returns the endpoint that compares two versions of a prompt. */
export function diffEndpoint(threads: TemplateThreads, { path, read, readVersion }: ItemResource<PromptContent>) {
  return endpoint({
    ...reading,
    operationId: 'diffPrompt',
    path: `${path}/{prompt_id}/diff`,
    summary: 'Compare two versions of a prompt',
    tag: 'prompts',
    params: itemParams(promptKind),
    query: z.strictObject({
      from: versionParam.meta({ description: 'The version to compare from', example: 1 }),
      to: versionParam
        .optional()
        .meta({ description: 'The version to compare to; default: the newest version', example: 3 }),
    }),
    responses: { 200: { description: 'The changes by field, and a unified diff of the text', schema: diffSchema } },
    problems: [
      ...(['project_not_found', 'prompt_not_found', 'version_not_found', 'template_limit'] as const),
      ...(['workspace_busy', 'server_busy'] as const),
    ],
    handle: async (call) => {
      const { principal, params, query } = call;
      const project = projectOf(principal);
      const item = await read(project, idOrSlugIn(promptKind, params));
      const from = await readVersion(project, item, query.from);
      const to = await readVersion(project, item, query.to ?? item.latestVersion);
      const contents = { from: promptContentToWire(from.content), to: promptContentToWire(to.content) };
      const { changes, text } = await threads.of(project.workspaceId, call).run('diff', contents, diffMsMax);
      const identical = from.contentHash === to.contentHash;
      const body = { from: from.version, to: to.version, identical, changes, unified_diff: text };
      return { status: 200, body };
    },
  });
}
