import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { connectRequestRedis } from '../../src/stores/redis/client.ts';
import { type Random, seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { SendLog, sendUntilAcknowledged } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { type SpanBody, singleTraceBody } from '../support/workload.ts';

const preload = fileURLToPath(new URL('../support/poison-preload.mjs', import.meta.url));
/** 45 s on a machine that runs another file beside it. */
const quarantineMsMax = 60_000;
const neighbors = 30;

interface Quarantined {
  id: string;
  project_id: string;
  reason: string;
  attempts: number;
  body_bytes: number;
  replayed_at: string | null;
}

describe('a body that cannot be stored', () => {
  let stack: Stack;
  let stopKeepingAlive: () => number;
  beforeAll(async () => {
    stack = await startStack({ workerPreload: [preload] });
    stopKeepingAlive = stack.worker.keepAlive();
  });
  afterAll(async () => {
    stopKeepingAlive?.();
    await stack?.stop();
  });

  it('because it is corrupt: is in quarantine byte for byte, its neighbors are stored', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('corrupt');
    const corrupt = Buffer.from('\u{1F9E8} {"resourceSpans": nothing that the edge would let pass');
    const [log] = await Promise.all([sendNeighbors(project, random), publishUnseen(project, corrupt)]);
    const entry = await quarantinedOf(project, 30_000);
    expect(entry).toMatchObject({ reason: expect.stringContaining('decoded'), attempts: 1, replayed_at: null });
    expect(entry.body_bytes).toBe(corrupt.length);
    expect(await payloadOf(entry)).toEqual(corrupt);
    await stack.untilIdle(30_000);
    await expectExactlyOnce(stack, project, log);
  });

  it('because of a fault of ours: is stored by a replay once that is mended', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('mended');
    const log = new SendLog();
    const body = await sendPoison(project, random, 'poison:throw', log);
    const entry = await quarantinedOf(project, 30_000);
    expect(entry.reason).toContain('a fault in the decoder');
    expect(await payloadOf(entry)).toEqual(body.bytes);
    stopKeepingAlive();
    await stack.worker.terminate();
    await stack.worker.start([]);
    const replay = await admin(`/api/quarantine/${entry.id}/replay`, 'POST');
    expect(replay.status).toBe(202);
    await stack.untilIdle(30_000);
    await expectExactlyOnce(stack, project, log);
    expect((await quarantinedOf(project, 30_000)).replayed_at).not.toBeNull();
    await stack.worker.terminate();
    await stack.worker.start([preload]);
    stopKeepingAlive = stack.worker.keepAlive();
  });

  it.each([
    ['ends the worker', 'poison:exit'],
    ['keeps the worker busy forever', 'poison:loop'],
  ])('because it %s: is alone in quarantine within a minute', async (_, mark) => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject(mark);
    const startedAtMs = Date.now();
    const poisonLog = new SendLog();
    const [log, body] = await Promise.all([
      sendNeighbors(project, random),
      sendPoison(project, random, mark, poisonLog),
    ]);
    const entry = await quarantinedOf(project, quarantineMsMax);
    const quarantinedMs = Date.now() - startedAtMs;
    expect(entry.reason).toContain('Crashed');
    expect(await payloadOf(entry)).toEqual(body.bytes);
    await stack.untilIdle(30_000);
    await expectExactlyOnce(stack, project, log);
    expect(await listQuarantined(project)).toHaveLength(1);
    const after = await sendNeighbors(project, random, log);
    const freshMs = await stack.untilIdle(30_000);
    await expectExactlyOnce(stack, project, after);
    console.log(`${mark}: in quarantine after ${quarantinedMs} ms; later bodies took ${freshMs} ms`);
  });

  /** Bodies sent at once, so that they are under way together with whatever else is sent now. */
  async function sendNeighbors(project: Project, random: Random, log = new SendLog()): Promise<SendLog> {
    const target = { apiUrl: stack.apiUrl, apiKey: project.apiKey, random, log };
    const bodies = Array.from({ length: neighbors }, () => singleTraceBody(random, 4));
    await Promise.all(bodies.map((body) => sendUntilAcknowledged(target, body)));
    return log;
  }

  async function sendPoison(project: Project, random: Random, mark: string, log: SendLog): Promise<SpanBody> {
    const body = singleTraceBody(random, 2, mark);
    await sendUntilAcknowledged({ apiUrl: stack.apiUrl, apiKey: project.apiKey, random, log }, body);
    return body;
  }

  /** Through the product's own publisher, as the edge would refuse these bytes. */
  async function publishUnseen(project: Project, bytes: Buffer): Promise<void> {
    const redis = connectRequestRedis(stack.engines.redis.url);
    const publisher = createBodyPublisher(redis);
    await until('Redis is connected', 30_000, () => redis.status === 'ready');
    await publisher.publish(
      `b_${createHash('sha256').update(bytes).digest('hex')}`,
      bytes,
      {
        v: 1,
        workspaceId: 'wsp_test',
        projectId: project.id,
        retentionDays: 30,
        encoding: 'json',
        coding: 'identity',
        inflatedBytes: bytes.length,
        spans: 1,
        receivedAtMs: Date.now(),
      },
      undefined,
    );
    await publisher.close();
    redis.disconnect();
  }

  function quarantinedOf(project: Project, timeoutMs: number): Promise<Quarantined> {
    return until('the body is in quarantine', timeoutMs, async () => (await listQuarantined(project))[0]);
  }

  async function listQuarantined(project: Project): Promise<Quarantined[]> {
    const { data } = (await (await admin('/api/quarantine?limit=100')).json()) as { data: Quarantined[] };
    return data.filter((entry) => entry.project_id === project.id);
  }

  async function payloadOf(entry: Quarantined): Promise<Buffer> {
    return Buffer.from(await (await admin(`/api/quarantine/${entry.id}`)).arrayBuffer());
  }

  function admin(path: string, method = 'GET'): Promise<Response> {
    return fetch(stack.apiUrl + path, { method, headers: { 'X-Admin-Key': stack.adminKey } });
  }
});
