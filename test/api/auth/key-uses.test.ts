import { afterAll, beforeAll, expect, test } from 'vitest';
import { markKeysUsed } from '../../../src/domains/auth/api-key-record-store.ts';
import { KeyUses } from '../../../src/domains/auth/key-uses.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { newKey, newProject, startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
let keyId: string;
const logger = createLogger({ level: 'silent', name: 'test' });

beforeAll(async () => {
  api = await startApi();
  ({ id: keyId } = await newKey(api, (await newProject(api)).id, {}));
});
afterAll(() => api.close());

/** As each API process has one. */
const newUses = () => new KeyUses({ write: (keyIds) => markKeysUsed(api.postgres, keyIds), logger });

async function useIn(processes: readonly KeyUses[]): Promise<void> {
  for (const uses of processes) uses.note(keyId);
  await Promise.all(processes.map((uses) => uses.flush()));
}

/** `xmin` changes with every write of the row. */
async function writeOf(id: string): Promise<{ write: string; at: Date | null }> {
  const row = await api
    .postgres('api_keys')
    .where({ id })
    .first('last_used_at', api.postgres.raw('xmin::text as write'));
  return { write: row.write, at: row.last_used_at };
}

test('of four processes that see a key used, one writes it, and none again within a minute', async () => {
  expect((await writeOf(keyId)).at).toBeNull();
  await useIn(Array.from({ length: 4 }, newUses));
  const first = await writeOf(keyId);
  expect(Date.now() - Number(first.at)).toBeLessThan(20_000);
  await useIn(Array.from({ length: 4 }, newUses));
  expect(await writeOf(keyId)).toEqual(first);
});

test('a minute later it is written again', async () => {
  const longAgo = new Date(Date.now() - 61_000);
  await api.postgres('api_keys').where({ id: keyId }).update({ last_used_at: longAgo });
  await useIn([newUses(), newUses()]);
  expect(Number((await writeOf(keyId)).at)).toBeGreaterThan(longAgo.getTime() + 40_000);
});
