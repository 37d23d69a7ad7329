import { afterAll, expect, test } from 'vitest';
import { promptKind } from '../../../src/domains/prompts/index.ts';
import { promptCollection } from '../../../src/domains/prompts/prompt-collection.ts';
import { mergeContent } from '../../../src/domains/prompts/prompts.schema.ts';
import { TemplateThreads } from '../../../src/domains/templates/index.ts';
import { rollBackItem } from '../../../src/domains/versioned/roll-back-item.ts';
import { updateItem } from '../../../src/domains/versioned/update-item.ts';
import type { ProjectId, WorkspaceId } from '../../../src/lib/ids.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

const it = usePromptApi();
const threads = new TemplateThreads();
afterAll(() => threads.close());

test('an update hashes its content once, one without content and a rollback not at all', async () => {
  const { id } = await it.newPrompt();
  let hashed = 0;
  const kind: typeof promptKind = {
    ...promptKind,
    hashed: (content) => {
      hashed++;
      return promptKind.hashed(content);
    },
  };
  const { postgres } = it.api;
  const collection = { ...promptCollection({ postgres, threads, invalidations: { publish: async () => {} } }), kind };
  const project = { projectId: it.project.id as ProjectId, workspaceId: it.project.workspaceId as WorkspaceId };
  const actor = { type: 'admin', id: null, requestId: null } as const;
  const common = { project, actor, idOrSlug: id, ifMatch: undefined, baseVersion: undefined, commitMessage: null };
  const update = async (body: { name?: string; template?: string }) => {
    hashed = 0;
    const metadata = { name: body.name, slug: undefined, description: undefined, tags: undefined };
    const merge = (newest: Parameters<typeof mergeContent>[0]) => mergeContent(newest, body);
    const { version } = await updateItem(collection, { ...common, metadata, merge, labels: [] });
    return { hashed, version: version.version };
  };
  expect(await update({ template: 'other' })).toEqual({ hashed: 1, version: 2 });
  expect(await update({ name: 'Renamed' })).toEqual({ hashed: 0, version: 2 });
  hashed = 0;
  const { version } = await rollBackItem(collection, { ...common, version: 1 });
  expect({ hashed, version: version.version }).toEqual({ hashed: 0, version: 3 });
  expect(version.contentHash).toBe((await it.ok('getPromptVersion', id, { params: { version: '1' } })).content_hash);
});
