import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { diffContent } from '../templates/index.ts';
import { calledIn, type Exposure, itemParams, reading, versionParam } from '../versioned/index.ts';
import { type PromptContent, promptContentToWire, promptKind } from './prompt-content.ts';
import { diffSchema } from './prompts.schema.ts';

const { endpoint } = endpointsFor<Principal>();

export function diffEndpoint({ path, read, readVersion }: Exposure<PromptContent>) {
  return endpoint({
    ...reading,
    operationId: 'diffPrompt',
    path: `${path}/{prompt_id}/diff`,
    summary: 'What differs between two versions of a prompt',
    tag: 'prompts',
    params: itemParams(promptKind),
    query: z.strictObject({
      from: versionParam.meta({ description: 'The version that the changes start from', example: 1 }),
      to: versionParam.optional().meta({ description: 'Default the newest version', example: 3 }),
    }),
    responses: { 200: { description: 'Field by field, and as a unified diff of the text', schema: diffSchema } },
    problems: ['project_not_found', 'prompt_not_found', 'version_not_found'],
    handle: async ({ principal, params, query }) => {
      const item = await read(projectOf(principal), calledIn(promptKind, params));
      const from = await readVersion(item, query.from);
      const to = await readVersion(item, query.to ?? item.latestVersion);
      const { changes, text } = diffContent(promptContentToWire(from.content), promptContentToWire(to.content));
      const identical = from.contentHash === to.contentHash;
      const body = { from: from.version, to: to.version, identical, changes, unified_diff: text };
      return { status: 200, body };
    },
  });
}
