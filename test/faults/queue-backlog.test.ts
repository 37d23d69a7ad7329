import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type BodyPublisher, createBodyPublisher } from '../../src/queue/body-publisher.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import { connectPostgres } from '../../src/stores/postgres/client.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { bodyKey } from '../../src/stores/redis/names.ts';
import { post } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { singleTraceBody } from '../support/workload.ts';

/** Nothing here depends on what is in a body. */
const random = Math.random;
const quietBodies = 5;
const spansPerBody = 200;

describe('one workspace with a backlog', () => {
  let stack: Stack;
  let redis: Redis;
  let publisher: BodyPublisher;
  beforeAll(async () => {
    stack = await startStack();
    redis = connectRequestRedis(stack.engines.redis.url);
    redis.on('error', () => undefined);
    await firstConnection(redis);
    publisher = createBodyPublisher(redis);
  });
  afterAll(async () => {
    await publisher?.close();
    redis?.disconnect();
    await stack?.stop();
  });

  it.each([
    ['of small bodies', { count: 800, note: '' }],
    ['of large bodies', { count: 12, note: 'x'.repeat(6_000) }],
  ])('%s does not hold up the bodies that another sends after it', async (name, { count, note }) => {
    showLogsOnFailure(stack);
    const flood = `prj_flood_${name.replaceAll(' ', '_')}`;
    const quiet = `prj_quiet_${name.replaceAll(' ', '_')}`;
    // What waits is all there before a worker takes the first of it, so that the order is the lane's alone.
    await stack.worker.kill();
    const flooded: string[] = [];
    for (let sent = 0; sent < count; sent++) flooded.push(await publish(flood, spansPerBody, note));
    const single: string[] = [];
    for (let sent = 0; sent < quietBodies; sent++) single.push(await publish(quiet, 2, ''));
    await stack.worker.start();
    const left = await until('the quiet one is stored', 60_000, async () => {
      const waiting = await countLeft(quiet, single);
      return waiting === 0 && { left: await countLeft(flood, flooded) };
    });
    expect(left.left).toBeGreaterThan(count / 4);
    await stack.untilIdle(60_000);
    await until('the other one is stored too', 20_000, async () => (await countLeft(flood, flooded)) === 0);
  });

  async function publish(projectId: string, spans: number, note: string): Promise<string> {
    const body = singleTraceBody(random, spans, note + randomUUID()).bytes;
    const jobId = `b_${randomUUID().replaceAll('-', '')}`;
    const payload: IngestBodyPayload = {
      ...{
        v: 1,
        projectId,
        workspaceId: `wsp_of_${projectId}`,
        retentionDays: 0,
        encoding: 'json',
        coding: 'identity',
      },
      ...{ inflatedBytes: body.length, spans, receivedAtMs: Date.now() },
    };
    await publisher.publish(jobId, body, payload, undefined);
    return jobId;
  }

  async function countLeft(projectId: string, jobIds: readonly string[]): Promise<number> {
    return stack.redis.exists(...jobIds.map((jobId) => bodyKey(projectId, jobId)));
  }

  it('that fills a quarter of the memory for bodies is refused, and taken again once it is drained; others go on', async () => {
    showLogsOnFailure(stack);
    const busy = await stack.createProject('busy');
    const quiet = await stack.createProject('quiet', await newWorkspace());
    const send = (project: Project, note = '') =>
      post(stack.apiUrl, project.apiKey, singleTraceBody(random, 1, note + randomUUID()));
    await stack.worker.kill();
    await stack.redis.config('SET', 'maxmemory', '100mb');
    let sent = 0;
    const refusal = await until('a refusal of the busy one', 60_000, async () => {
      const answer = await send(busy, 'x'.repeat(1_000_000));
      if (answer.status === 200) sent++;
      return answer.status === 429 && answer;
    });
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refusal.body.toString()).toMatch(/for one workspace is 15728640/);
    expect(sent).toBeGreaterThan(5);
    expect((await send(quiet)).status).toBe(200);
    await stack.redis.config('SET', 'maxmemory', '2gb');
    await stack.worker.start();
    await stack.untilIdle(60_000);
    await until('the busy one is taken again', 10_000, async () => (await send(busy)).status === 200);
    await stack.untilIdle(60_000);
  });

  async function newWorkspace(): Promise<string> {
    const postgres = connectPostgres(stack.engines.postgres.url, 1);
    const id = newId('wsp');
    await postgres('workspaces').insert({ id, name: 'another', plan: 'enterprise' });
    await postgres.destroy();
    return id;
  }
});
