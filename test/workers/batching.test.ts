import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { bodyKey } from '../../src/stores/redis/names.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { listQuarantine, publishBody, untilQuarantined } from '../support/quarantine.ts';
import { aSpan, newTraceId } from '../support/spans.ts';
import { sendSpans, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';
import { spawnWorker } from '../support/worker-process.ts';

/** A database of Redis that only this file uses, so that its bodies wait for this file's worker. */
const bodies = 300;

let api: TestApi;
let project: ProjectOfTest;
let redis: Redis;
let publisher: BodyPublisher;
let engine: TestProxy;
let logDirectory: string;
let endWorker: () => Promise<void>;
const traceIds = Array.from({ length: 10 }, newTraceId);
let corruptIds: string[];

// The bodies wait before the worker starts, so that it meets them all at once: the good ones of
// many requests and four bad ones.
beforeAll(async () => {
  api = await startApi({ redisUrl: ownRedisUrl(7) });
  project = await newProject(api);
  redis = connectRequestRedis(api.config.redisUrl);
  await firstConnection(redis);
  publisher = createBodyPublisher(redis);
  for (let index = 0; index < bodies; index++) {
    await sendSpans(api, project.key, [aSpan({ traceId: traceIds[index % traceIds.length] ?? '' })]);
  }
  corruptIds = [
    await publishBody(publisher, project, gzipSync('cut short').subarray(0, -6), { coding: 'gzip' }),
    await publishBody(publisher, project, Buffer.from('{"resourceSpans":'), { encoding: 'json' }),
    // Fewer and more spans than the edge had accepted.
    await publishBody(publisher, project, encodeSpans('protobuf', []), { spans: 1 }),
    await publishBody(publisher, project, encodeSpans('protobuf', [aSpan(), aSpan()]), { spans: 1 }),
  ];
  engine = await startProxy(api.config.clickhouseUrl);
  logDirectory = mkdtempSync(join(tmpdir(), 'promptlane-batching-'));
  const { databaseUrl, redisUrl } = api.config;
  const worker = await spawnWorker(
    { databaseUrl, redisUrl, clickhouseUrl: engine.url },
    join(logDirectory, 'worker.log'),
  );
  endWorker = worker.end;
});

afterAll(async () => {
  await endWorker();
  await engine.close();
  await publisher.close();
  redis.disconnect();
  await api.close();
  rmSync(logDirectory, { recursive: true, force: true });
});

describe('300 small bodies and four that are not what was accepted, waiting together', () => {
  test('the good ones are all stored', async () => {
    for (const traceId of traceIds) await untilStored(api, project, traceId, bodies / traceIds.length);
  });

  test('in few inserts', () => {
    const inserts = engine.requests.filter(({ url }) => /query=INSERT[+ ]INTO[+ ]spans/.test(decodeURIComponent(url)));
    expect(inserts.length).toBeGreaterThan(0);
    expect(inserts.length).toBeLessThanOrEqual(bodies / 30);
  });

  test('the bad ones, and only they, are in the quarantine', async () => {
    for (const id of corruptIds) await untilQuarantined(api, id);
    const entries = (await listQuarantine(api)).filter(({ project_id }) => project_id === project.id);
    expect(entries.map(({ id }) => id).sort()).toEqual(corruptIds.toSorted());
    expect(entries.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([
        'The body decodes to 0 spans, 1 were accepted',
        'The body decodes to 2 spans, 1 were accepted',
      ]),
    );
  });

  test('nothing is left in the queue', async () => {
    await until('bodies and jobs gone', 30_000, async () => {
      const [keys, counts] = await Promise.all([
        redis.keys(bodyKey(project.id, '*')),
        publisher.queue.getJobCounts('wait', 'active', 'delayed', 'failed'),
      ]);
      return keys.length === 0 && Object.values(counts).every((count) => count === 0);
    });
  });
});
