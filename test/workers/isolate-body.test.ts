import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { UnavailableError } from '../../src/lib/errors.ts';
import { jobCatalog } from '../../src/queue/job-catalog.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { bodyKey, queuePrefix } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { type IsolateBodyDeps, isolateBody } from '../../workers/isolation/isolate-body.ts';
import { IsolatedProcess } from '../../workers/isolation/isolated-process.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { listQuarantine, payloadOf } from '../support/quarantine.ts';
import { randomSecret } from '../support/worker-process.ts';

const entry = fileURLToPath(new URL('../support/isolated-child.mjs', import.meta.url));

let api: TestApi;
let project: ProjectOfTest;
let redis: Redis;
let postgres: Postgres;
let isolated: IsolatedProcess;
let deps: IsolateBodyDeps;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  redis = connectWorkerRedis(inject('redisUrl'));
  postgres = connectPostgres(api.config.databaseUrl, 2);
  isolated = new IsolatedProcess({ entry, answerMsMax: 2_000 });
  deps = { redis, postgres, isolated, logger: createLogger({ level: 'silent', name: 'test' }) };
});

afterAll(async () => {
  isolated.close();
  await postgres.destroy();
  redis.disconnect();
  await api.close();
});

/** Runs a body whose tries end as said, one after the other; the last of them forever. */
async function isolate(
  said: string,
  { jobId = `${said}-${randomUUID()}`, isOurs = true } = {},
): Promise<{ jobId: string; body: Buffer }> {
  const body = Buffer.from(jobId);
  const { queue } = jobCatalog.isolateBody;
  // Its job is there while it is worked on, or the sweep of another test's worker would take the body away.
  await redis.hset(`${queuePrefix(queue)}:${queue}:${jobId}`, 'name', 'isolateBody');
  await redis.set(bodyKey(project.id, jobId), body);
  await isolateBody(deps, { id: jobId, isOurs: async () => isOurs }, payloadOf(project, body));
  return { jobId, body };
}

async function quarantined(jobId: string) {
  return (await listQuarantine(api)).find(({ id }) => id === jobId);
}

describe('a body that is worked on alone', () => {
  test.each([
    ['failed', 3, 'Failed 3 times alone: a reason'],
    ['exit', 2, 'Crashed 2 workers alone: the process ended with code 3'],
    ['silence', 2, 'Crashed 2 workers alone: the process gave no result within 2000 ms'],
    ['hopeless', 1, 'a reason'],
    ['failed.exit.failed.exit', 4, 'Crashed 2 workers alone: the process ended with code 3'],
  ])(
    'and ends as %s is in quarantine after %i tries, with its payload and the reason',
    async (said, attempts, reason) => {
      const { jobId, body } = await isolate(said);
      expect(await quarantined(jobId)).toMatchObject({ attempts, reason, body_bytes: body.length });
    },
  );

  test.each(['stored', 'failed.failed.stored'])('and ends as %s is not in quarantine', async (said) => {
    const { jobId } = await isolate(said);
    expect(await quarantined(jobId)).toBeUndefined();
  });

  test.each(['hopeless', 'exit'])(
    'and ends as %s is not in quarantine when another worker has its job meanwhile',
    async (said) => {
      const jobId = `${said}-${randomUUID()}`;
      await expect(isolate(said, { jobId, isOurs: false })).rejects.toBeInstanceOf(UnavailableError);
      expect(await quarantined(jobId)).toBeUndefined();
    },
  );

  test('and waits for an engine goes back to the queue, so that the next one has its turn', async () => {
    await expect(isolate('waiting')).rejects.toBeInstanceOf(UnavailableError);
    await expect(isolate('waiting')).rejects.toBeInstanceOf(UnavailableError);
    expect(await quarantined((await isolate('stored')).jobId)).toBeUndefined();
  });
});

describe('the process for bodies alone', () => {
  test('ends if its worker dies while it starts', { timeout: 60_000 }, async () => {
    const child = fork(fileURLToPath(new URL('../../workers/isolation/isolated-main.ts', import.meta.url)), {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {
        ...process.env,
        DATABASE_URL: api.config.databaseUrl,
        REDIS_URL: inject('redisUrl'),
        CLICKHOUSE_URL: inject('clickhouseUrl'),
        ADMIN_API_KEY: randomSecret(),
        API_KEY_PEPPER: randomSecret(),
      },
    });
    child.disconnect();
    try {
      expect(await once(child, 'exit', { signal: AbortSignal.timeout(45_000) })).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
