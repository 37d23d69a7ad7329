import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeyUses } from '../../src/domains/api-keys/index.ts';
import { connectPostgres } from '../../src/stores/postgres/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { newKey, newProject, startApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let keyId: string;
const minuteMs = 60_000;
const logger = createLogger({ level: 'silent', name: 'test', destination: new Writable() });

beforeAll(async () => {
  api = await startApi();
  ({ id: keyId } = await newKey(api, (await newProject(api)).id, {}));
});
afterAll(() => api.close());

/** As another process would note uses, with a clock of its own. */
function process(startMs = 0) {
  let nowMs = startMs;
  const uses = new KeyUses({ postgres: api.postgres, logger, nowMs: () => nowMs });
  return { uses, pass: (ms: number) => (nowMs += ms) };
}
/** `xmin` changes with every write of the row. */
async function writeOf(id: string) {
  const row = await api
    .postgres('api_keys')
    .where({ id })
    .first('last_used_at', api.postgres.raw('xmin::text as write'));
  return { write: row.write as string, at: row.last_used_at as Date | null };
}
const ageOfUse = (ms: number) =>
  api
    .postgres('api_keys')
    .where({ id: keyId })
    .update({ last_used_at: new Date(Date.now() - ms) });

test('a use is noted when it is flushed, and a minute long no process writes it again', async () => {
  const [first, second] = [process(), process()];
  first.uses.mark(keyId);
  expect((await writeOf(keyId)).at).toBeNull();
  await first.uses.flush();
  const noted = await writeOf(keyId);
  expect(noted.at).toBeInstanceOf(Date);
  for (const { uses } of [first, second]) {
    uses.mark(keyId);
    await uses.flush();
  }
  expect(await writeOf(keyId)).toEqual(noted);
});

test('a minute later it is noted once, however many processes try at once', async () => {
  const processes = Array.from({ length: 4 }, () => process());
  for (const { uses } of processes) uses.mark(keyId);
  await ageOfUse(minuteMs + 1_000);
  await Promise.all(processes.map(({ uses }) => uses.flush()));
  const noted = await writeOf(keyId);
  expect(Date.now() - Number(noted.at)).toBeLessThan(20_000);
  for (const { uses, pass } of processes) {
    pass(minuteMs - 1);
    uses.mark(keyId);
    await uses.flush();
  }
  expect(await writeOf(keyId)).toEqual(noted);
});

test('a use that could not be written is written by the next', async () => {
  const away = connectPostgres('postgres://127.0.0.1:1/none', 1);
  const engines = [away, api.postgres];
  const uses = new KeyUses({
    get postgres() {
      return engines.shift() ?? api.postgres;
    },
    logger,
    nowMs: () => 0,
  });
  await ageOfUse(minuteMs * 2);
  const before = await writeOf(keyId);
  uses.mark(keyId);
  await uses.flush();
  expect(await writeOf(keyId)).toEqual(before);
  uses.mark(keyId);
  await uses.flush();
  expect((await writeOf(keyId)).write).not.toBe(before.write);
  await away.destroy();
});
