import { createHash, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { triesMax } from '../../src/domains/identity/apply-or-give-up.ts';
import { createBodyPublisher } from '../../src/queue/body-publisher.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { createIdentityEventPublisher } from '../../src/queue/identity-event-publisher.ts';
import { jobCatalog } from '../../src/queue/job-catalog.ts';
import { connectRequestRedis, firstConnection } from '../../src/stores/redis/client.ts';
import { identityTriesKey } from '../../src/stores/redis/names.ts';
import { canaries, canaryEnv, letCanaryIntoRedis } from '../support/canary/canaries.ts';
import {
  type CanaryCaller,
  type CanaryRequest,
  type Operation,
  payloadRequests,
  sweepOf,
} from '../support/canary/requests.ts';
import { identityEvent } from '../support/identity-state.ts';
import { seededRandom } from '../support/random.ts';
import { post } from '../support/sender.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { singleTraceBody } from '../support/workload.ts';

const preload = fileURLToPath(new URL('../support/poison-preload.mjs', import.meta.url));
const parallel = 16;

/** Whatever happens, no secret and nothing of a payload is told to logs, errors and metrics. */
describe('with secrets everywhere and the level of logs that holds all others', () => {
  let stack: Stack;
  let caller: CanaryCaller;
  let operations: Operation[];
  let stopKeepingAlive: () => number;
  /** Everything told to callers that is not their own data: bodies of errors and metrics. */
  const told: string[] = [];
  /** Of the answers since the last look: a test whose requests all failed alike would prove little. */
  const statuses = new Set<number>();

  beforeAll(async () => {
    stack = await startStack({ env: { LOG_LEVEL: 'trace' }, envOf: canaryEnv, workerPreload: [preload] });
    stopKeepingAlive = stack.worker.keepAlive();
    const project = await stack.createProject('canary');
    const headers = { 'X-API-Key': project.apiKey };
    const context = await fetch(`${stack.apiUrl}/api/me/context`, { headers });
    const { workspace } = (await context.json()) as { workspace: { id: string } };
    caller = { projectId: project.id, workspaceId: workspace.id, apiKey: project.apiKey };
    operations = await listOperations();
  });
  afterAll(async () => {
    stopKeepingAlive?.();
    await stack?.stop();
  });

  it('good and bad requests tell nothing', async () => {
    showLogsOnFailure(stack);
    await sendAll([...payloadRequests(caller), ...sweepOf(operations, caller)]);
    expect(told.length).toBeGreaterThan(300);
    expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 202, 400, 401, 403, 404, 415, 422]));
    expectNothingTold();
  });

  it.each(['postgres', 'redis', 'clickhouse'] as const)('an outage of %s tells nothing', async (name) => {
    showLogsOnFailure(stack);
    await sendAll(payloadRequests(caller));
    await stack.engines[name].kill();
    statuses.clear();
    await sendAll([...payloadRequests(caller), ...sweepOf(operations, caller)]);
    expect([...statuses]).toContain(503);
    await stack.engines[name].start();
    if (name === 'redis') await letCanaryIntoRedis(stack.engines);
    await until('spans are taken again', 20_000, async () => (await sendSpans('after')) === 200);
    expectNothingTold();
  });

  it('bodies that break the worker, and events that cannot be applied, tell nothing', async () => {
    showLogsOnFailure(stack);
    for (const mark of ['poison:throw', 'poison:exit']) expect(await sendSpans(mark)).toBe(200);
    await publishCorrupt();
    await publishPoisonEvent();
    const quarantined = await until('the bodies are in quarantine', 60_000, async () => {
      const answer = await admin('/api/quarantine');
      return answer.data.length === 3 && answer;
    });
    told.push(JSON.stringify(quarantined));
    told.push(JSON.stringify(await admin('/api/identity-events/failed')));
    await stack.untilIdle(30_000);
    expectNothingTold();
    expect(stack.worker.log()).toContain('body quarantined');
  });

  it('reasons that jobs failed for tell nothing', async () => {
    const { redis } = stack;
    const reasons: string[] = [];
    for (const { queue: name } of Object.values(jobCatalog)) {
      const queue = connectQueue(name, redis);
      const jobs = await queue.getJobs(['failed', 'delayed', 'completed', 'wait', 'active']);
      reasons.push(...jobs.map((job) => `${job.failedReason} ${job.stacktrace?.join()}`));
    }
    expect(reasons.length).toBeGreaterThan(0);
    expect(leaksIn(reasons.join('\n'), 'a job')).toEqual([]);
  });

  it('metrics and public figures tell nothing', async () => {
    for (const path of ['/metrics', '/api/latency', '/api/health', '/api/openapi.json']) {
      const answer = await fetch(stack.apiUrl + path, { headers: { 'X-Admin-Key': canaries.adminKey } });
      expect(answer.status).toBe(200);
      told.push(await answer.text());
    }
    expectNothingTold();
  });

  function expectNothingTold(): void {
    const api = leaksIn(stack.api.log(), 'the log of the API');
    const worker = leaksIn(stack.worker.log(), 'the log of the worker');
    const answers = told.splice(0).flatMap((text) => leaksIn(text, 'an answer'));
    expect([...api, ...worker, ...answers].slice(0, 20)).toEqual([]);
  }

  /** What of the canaries is in a text, with what is around it. */
  function leaksIn(text: string, where: string): string[] {
    const words = Object.entries({ ...canaries, apiKey: secretOf(caller.apiKey) });
    return words.flatMap(([name, value]) => {
      const at = text.indexOf(value);
      return at < 0 ? [] : [`${name} in ${where}: ${text.slice(Math.max(0, at - 300), at + 200)}`];
    });
  }

  async function sendAll(requests: readonly CanaryRequest[]): Promise<void> {
    const waiting = [...requests];
    const run = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await send(next);
    };
    await Promise.all(Array.from({ length: parallel }, run));
  }

  async function send({ method, path, headers, body }: CanaryRequest): Promise<void> {
    const answer = await fetch(stack.apiUrl + path, { method, headers, body: body ?? null });
    const text = await answer.text();
    statuses.add(answer.status);
    if (answer.status >= 400) told.push(`${method} ${path} ${answer.status} ${text}`);
  }

  async function sendSpans(note: string): Promise<number> {
    const body = singleTraceBody(seededRandom(), 2, `${note} ${canaries.payload}`);
    return (await post(stack.apiUrl, caller.apiKey, body)).status;
  }

  /** Past the edge, which would refuse these bytes. */
  async function publishCorrupt(): Promise<void> {
    const bytes = Buffer.from(`{"resourceSpans": nothing ${canaries.payload}`);
    const redis = connectRequestRedis(stack.engines.redis.url);
    await firstConnection(redis);
    const publisher = createBodyPublisher(redis);
    const id = `b_${createHash('sha256').update(bytes).digest('hex')}`;
    const payload = {
      v: 1 as const,
      workspaceId: 'wsp_test',
      projectId: caller.projectId,
      retentionDays: 30,
      encoding: 'json' as const,
      coding: 'identity' as const,
      inflatedBytes: bytes.length,
      spans: 1,
      receivedAtMs: Date.now(),
    };
    await publisher.publish(id, bytes, payload, undefined);
    await publisher.close();
    redis.disconnect();
  }

  /** On its last try, so that it fails for good at once. */
  async function publishPoisonEvent(): Promise<void> {
    const redis = connectRequestRedis(stack.engines.redis.url);
    await firstConnection(redis);
    const publisher = createIdentityEventPublisher(redis);
    const { payload } = canaries;
    const id = randomUUID();
    await redis.set(identityTriesKey(id), triesMax - 1);
    const said = { subject: `u_${payload}`, email: payload, name: `${payload}\u0000` };
    const event = identityEvent(Date.now(), { kind: 'user', verb: 'created', ...said }, 'evt_poison');
    await publisher.publish(id, event);
    await until('the event failed', 10_000, async () =>
      (await publisher.listFailed()).some(({ jobId }) => jobId === id),
    );
    await publisher.close();
    redis.disconnect();
  }

  async function admin(path: string): Promise<{ data: object[] }> {
    const answer = await fetch(stack.apiUrl + path, { headers: { 'X-Admin-Key': canaries.adminKey } });
    return (await answer.json()) as { data: object[] };
  }

  async function listOperations(): Promise<Operation[]> {
    const answer = await fetch(`${stack.apiUrl}/api/openapi.json`);
    const { paths } = (await answer.json()) as { paths: Record<string, Record<string, unknown>> };
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => /^(get|put|post|patch|delete)$/.test(method))
        .map((method) => ({ method: method.toUpperCase(), path })),
    );
  }
});

/** The part of a key between its id and its checksum. */
function secretOf(apiKey: string): string {
  return /^pl_[^_]+_(.{43})_/.exec(apiKey)?.[1] ?? apiKey;
}
