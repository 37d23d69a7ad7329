import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BodyWaits } from '../../src/domains/ingestion/receive/body-waits.ts';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { corruptBody, publishBody } from '../support/quarantine.ts';
import { aSpan, newTraceId } from '../support/spans.ts';
import { spawnWorker } from '../support/worker-process.ts';

/** A database of Redis that only this file uses, so that its bodies wait for this file's worker. */
const redisUrl = ownRedisUrl(12);

let api: TestApi;
let project: ProjectOfTest;
let redis: Redis;
let publisher: BodyPublisher;
let logDirectory: string;

beforeAll(async () => {
  api = await startApi({ redisUrl });
  project = await newProject(api);
  redis = connectRequestRedis(redisUrl);
  await firstConnection(redis);
  publisher = createBodyPublisher(redis);
  logDirectory = mkdtempSync(join(tmpdir(), 'promptlane-isolated-outcomes-'));
});
afterAll(async () => {
  await publisher.close();
  redis.disconnect();
  await api.close();
  rmSync(logDirectory, { recursive: true, force: true });
});

test('a body that is tried alone ends the wait for it with its own outcome', async () => {
  const traceId = newTraceId();
  const jobIds = [
    await publishBody(publisher, project, encodeSpans('protobuf', [aSpan({ traceId })])),
    await publishBody(publisher, project, corruptBody, { coding: 'gzip' }),
  ];
  // As if two workers had died while they had it.
  for (const jobId of jobIds) await redis.hset(publisher.queue.toKey(jobId), 'stc', 2);
  const { databaseUrl, clickhouseUrl } = api.config;
  const worker = await spawnWorker({ databaseUrl, redisUrl, clickhouseUrl }, join(logDirectory, 'worker.log'));
  const waits = new BodyWaits(publisher);
  const options = { workspaceId: project.workspaceId, timeoutMs: 45_000, signal: new AbortController().signal };
  const results = await Promise.all(
    jobIds.map((jobId) => waits.wait({ jobId, projectId: project.id, traceId }, options)),
  );
  expect(results).toEqual(['stored', 'quarantined']);
  await worker.end();
});
