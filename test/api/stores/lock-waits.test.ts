import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { lockPartGraph } from '../../../src/domains/parts/index.ts';
import { promptKind } from '../../../src/domains/prompts/index.ts';
import { changeItem } from '../../../src/domains/versioned/collection.ts';
import { newId } from '../../../src/lib/ids.ts';
import { connectPostgres, type Postgres, type Transaction } from '../../../src/stores/postgres/client.ts';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

// A change waits for a second for a lock.
vi.setConfig({ testTimeout: 30_000 });
const it = usePromptApi();

let owner: Postgres;
beforeAll(() => {
  owner = connectPostgres(inject('databaseUrl'), 1);
});
afterAll(() => owner.destroy());

type Change = [operationId: string, called: string, options?: object];

/** Requests changes while a transaction has what it locked, and after it. */
async function expectRefused(lock: (transaction: Transaction) => Promise<unknown>, changes: readonly Change[]) {
  await owner.transaction(async (transaction) => {
    await lock(transaction);
    const answers = await Promise.all(changes.map(([operationId, ...more]) => it.call(operationId, ...more)));
    for (const answer of answers) {
      expect(expectProblem(answer, 503, 'query_timeout').detail).toContain('such as an import');
      expect(answer.headers.get('retry-after')).toBe('5');
    }
  });
  for (const [operationId, ...more] of changes) expect((await it.call(operationId, ...more)).status).toBeLessThan(300);
}

test('changes of a prompt that a long transaction has locked are refused while it has, and then made', async () => {
  const { id } = await it.newPrompt();
  await expectRefused(
    (transaction) => transaction('prompts').where({ id }).forUpdate().select('id'),
    [
      ['updatePrompt', id, { body: { template: 'x' } }],
      ['putPromptLabel', id, { params: { label: 'live' }, body: { version: 1 } }],
      ['deletePrompt', id],
    ],
  );
});

test('changes of what parts mean are refused while a long transaction changes it, and then made', async () => {
  const { id } = await it.newPart();
  await expectRefused(
    (transaction) => lockPartGraph(transaction, it.project.id, 'change'),
    [
      ['createPart', '', { body: { name: 'new', template: 'x' } }],
      ['updatePart', id, { body: { template: 'x' } }],
      ['deletePart', id],
    ],
  );
});

test('a change gives its connection back after a second', async () => {
  const nothing = async () => undefined;
  const checks = { checkContent: async () => [], versionAdded: nothing };
  const { rows } = await changeItem(
    { kind: promptKind, postgres: owner, invalidations: { publish: nothing }, ...checks },
    {
      project: { projectId: newId('prj'), workspaceId: newId('wsp') },
      actor: { type: 'system', id: null, requestId: null },
    },
    async (transaction) => {
      const { rows } = await transaction.raw<{ rows: object[] }>('show lock_timeout');
      return { item: { id: newId('prm') }, rows };
    },
  );
  expect(rows).toEqual([{ lock_timeout: '1s' }]);
});
