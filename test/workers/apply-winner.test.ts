import { expect, onTestFinished, test } from 'vitest';
import { applyWinner } from '../../src/domains/optimization/apply-winner.ts';
import { patiently } from '../../src/domains/optimization/patiently.ts';
import { type PromptContent, promptCollection, promptKind } from '../../src/domains/prompts/index.ts';
import { TemplateThreads } from '../../src/domains/templates/index.ts';
import { type Collection, ItemCache } from '../../src/domains/versioned/index.ts';
import { RateLimitedError } from '../../src/lib/errors.ts';
import { decision, searchRun, useOptimizationApi } from '../support/optimization.ts';

const it = useOptimizationApi();
const untold = { connected: false, publish: async () => undefined, subscribe: () => undefined, onGap: () => undefined };

/** Prompts whose content is not checked the first times, because the workspace has too much work in the threads. */
function busyCollection(times: number): Collection<PromptContent> {
  const { postgres } = it.api;
  const threads = new TemplateThreads();
  onTestFinished(() => threads.close());
  const collection = promptCollection({ postgres, invalidations: untold, threads, changed: async () => undefined });
  let checks = 0;
  return {
    ...collection,
    async checkContent(content, acting) {
      checks += 1;
      if (checks <= times) throw new RateLimitedError('workspace_busy', 'The workspace has too many templates waiting');
      return collection.checkContent(content, acting);
    },
  };
}

test('a winner that finds the threads busy is applied later, and once if it is applied again', async () => {
  const { postgres } = it.api;
  const wire = await it.newRun({ body: { apply: 'if_improved' } });
  const { run, lease } = await searchRun(it.api, it.project, wire);
  const prompts = new ItemCache({ kind: promptKind, postgres, invalidations: untold });
  const collection = busyCollection(2);
  const apply = () => applyWinner({ postgres, collection, prompts }, { run, lease, decision });
  await expect(apply()).rejects.toMatchObject({ code: 'workspace_busy' });
  expect(await patiently(new AbortController().signal, apply)).toBeUndefined();
  expect(await apply()).toBeUndefined();
  const versions = await postgres('prompt_versions').where('prompt_id', wire.prompt_id).orderBy('version');
  expect(versions).toMatchObject([{ version: 1 }, { version: 2, optimization_run_id: wire.run_id }]);
});
