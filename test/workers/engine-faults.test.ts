import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { listQuarantine } from '../support/quarantine.ts';
import { type RefusingClickHouse, startRefusingClickHouse } from '../support/refusing-clickhouse.ts';
import { aSpan } from '../support/spans.ts';
import { getExecution, sendSpans, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';
import { spawnWorker } from '../support/worker-process.ts';

let api: TestApi;
let project: ProjectOfTest;
let engine: RefusingClickHouse;
let logDirectory: string;
let endWorker: () => Promise<void>;
/** The code of an insert, or 0 if it is not refused. `nth` counts the inserts of one test. */
let codeOf: (nth: number) => number = () => 0;
let text = '';
let insertsBefore = 0;

beforeAll(async () => {
  api = await startApi({ redisUrl: ownRedisUrl(11) });
  const { databaseUrl, redisUrl, clickhouseUrl } = api.config;
  engine = await startRefusingClickHouse((_body, nth) => codeOf(nth - insertsBefore), {
    engineUrl: clickhouseUrl,
    textOf: () => text,
  });
  logDirectory = mkdtempSync(join(tmpdir(), 'promptlane-engine-faults-'));
  const worker = await spawnWorker({ databaseUrl, redisUrl, clickhouseUrl: engine.url }, join(logDirectory, 'w.log'));
  endWorker = worker.end;
  project = await newProject(api);
  const traceId = await send();
  const isStored = async () => (await getExecution(api, project, traceId)).status === 200;
  await until('the worker works', 100_000, isStored);
});
afterAll(async () => {
  await endWorker();
  await engine.close();
  await api.close();
  rmSync(logDirectory, { recursive: true, force: true });
});

/** From now on the engine refuses inserts so. */
async function refuse(said: string, code: typeof codeOf): Promise<void> {
  project = await newProject(api);
  [text, codeOf, insertsBefore] = [said, code, engine.answers.length];
}

async function send(): Promise<string> {
  const span = aSpan();
  await sendSpans(api, project.key, [span]);
  return span.traceId;
}

const quarantined = async () =>
  (await listQuarantine(api)).filter(({ project_id }) => project_id === project.id).map(({ reason }) => reason);

describe('a body, while the engine', () => {
  test.each([
    [
      'loses a shard that has not confirmed the rows',
      ...[1, 32, 'Code: 32. DB::Exception: Attempt to read after eof: while receiving packet from 127.0.0.1:9000, '],
      'local address: 127.0.0.1:35934: Insertion status:\nWrote 1 blocks and 1 rows. (ATTEMPT_TO_READ_AFTER_EOF)',
    ],
    [
      'has a file system that is read-only, for more tries than an unknown error has at once',
      ...[6, 1001, 'std::exception. Code: 1001, type: std::__1::filesystem::filesystem_error, e.what() = '],
      'filesystem error: in create_directories: Read-only file system ["/data/store/1d4"] (version 26.7.2.1)',
    ],
    [
      'fails for a reason that nobody knows, for more tries than one attempt of the job has',
      ...[6, 1002, 'Unknown exception. Code: 1002, '],
      'type: int (version 26.7.2.1)',
    ],
  ] as [string, number, number, string, string][])(
    '%s, is stored later, and the quarantine is empty',
    async (_what, refusals, code, start, end) => {
      await refuse(start + end, (nth) => (nth < refusals ? code : 0));
      await untilStored(api, project, await send());
      expect(engine.answers.slice(insertsBefore, insertsBefore + refusals)).toEqual(Array(refusals).fill(code));
      expect(await quarantined()).toEqual([]);
    },
  );
});
