import { expect, inject, test } from 'vitest';
import { promptKind } from '../../../src/domains/prompts/index.ts';
import { matchStaged } from '../../../src/domains/prompts/transfer/merge-store.ts';
import { createStaging } from '../../../src/domains/prompts/transfer/staging-store.ts';
import { newId } from '../../../src/lib/ids.ts';
import { connectPostgres } from '../../../src/stores/postgres/client.ts';

test('as many new prompts as an import may have get their ids in small steps', async () => {
  const postgres = connectPostgres(inject('databaseUrl'), 1);
  const steps: number[] = [];
  postgres.on('query', ({ bindings = [] }: { bindings?: unknown[] }) => {
    for (const binding of bindings) if (Array.isArray(binding)) steps.push(binding.length);
  });
  const transaction = await postgres.transaction();
  await createStaging(transaction, { checkingMsMax: 1_000 });
  await transaction.raw(
    `insert into staged_items (line, kind, slug) select n, 'prompt', 'p' || n from generate_series(1, 50000) n`,
  );
  await matchStaged(transaction, promptKind, newId('prj'));
  const counted = await transaction('staged_items').countDistinct('item_id as ids').where({ base_version: 0 });
  await transaction.rollback();
  await postgres.destroy();
  expect(counted).toEqual([{ ids: '50000' }]);
  expect(Math.max(...steps)).toBeLessThanOrEqual(2_000);
});

test('an import whose other lines are only checked, because one has a fault, may be without statements for as long', async () => {
  const postgres = connectPostgres(inject('serviceDatabaseUrl'), 1);
  const transaction = await postgres.transaction();
  await createStaging(transaction, { checkingMsMax: 120_000 });
  const { rows } = await transaction.raw('show idle_in_transaction_session_timeout');
  await transaction.rollback();
  await postgres.destroy();
  expect(rows).toEqual([{ idle_in_transaction_session_timeout: '125s' }]);
});
