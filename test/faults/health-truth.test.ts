import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { postWebhook, secrets, standardHeaders } from '../support/identity-webhooks.ts';
import { post } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { singleTraceBody } from '../support/workload.ts';

/** Within which it must be told, and what the look itself may take on a busy machine. */
const tellMsMax = 10_000 + 1_500;
const recoveryMsMax = 20_000;

interface Health {
  status: string;
  checks: Record<string, { status: string; reason?: string }>;
}

describe('GET /api/health', () => {
  let stack: Stack;
  let project: Project;
  let engine: HoldingProxy;
  beforeAll(async () => {
    stack = await startStack({
      env: { CLERK_WEBHOOK_SECRETS: secrets.clerk },
      workerClickHouseUrl: async (url) => {
        engine = await startHoldingProxy(url);
        return engine.url;
      },
    });
    project = await stack.createProject('health');
  });
  afterAll(async () => {
    await stack?.stop();
    await engine?.close();
  });

  const send = () => post(stack.apiUrl, project.apiKey, singleTraceBody(Math.random, 2, randomUUID()));
  const read = async () => {
    const response = await fetch(`${stack.apiUrl}/api/health`);
    return { code: response.status, health: (await response.json()) as Health };
  };
  const untilOk = () => until('all is well', recoveryMsMax, async () => (await read()).health.status === 'ok');
  /** How long it took until the queue's check said so. */
  async function untilTold(code: number, status: string, reason: RegExp): Promise<number> {
    const startedAtMs = Date.now();
    let last: unknown;
    await until(`${status}: ${reason}`, recoveryMsMax, async () => {
      const answer = await read();
      last = answer;
      const { queue } = answer.health.checks;
      return answer.code === code && answer.health.status === status && reason.test(queue?.reason ?? '');
    }).catch((error: Error) => {
      throw new Error(`${error.message}; last: ${JSON.stringify(last)}`);
    });
    return Date.now() - startedAtMs;
  }

  it('while Redis keeps no append-only file: says that spans are not taken; an identity event is not taken either', async () => {
    showLogsOnFailure(stack);
    await untilOk();
    await stack.redis.config('SET', 'appendonly', 'no');
    expect((await postEvent()).status).toBe(503);
    expect(await untilTold(503, 'down', /does not accept spans.*appendonly yes/)).toBeLessThan(tellMsMax);
    expect((await postEvent()).status).toBe(503);
    await stack.redis.config('SET', 'appendonly', 'yes');
    await untilOk();
    await until('the event is taken', recoveryMsMax, async () => (await postEvent()).status === 202);
  });

  it('while the worker is frozen: says that nothing is stored', async () => {
    showLogsOnFailure(stack);
    await untilOk();
    stack.worker.signal('SIGSTOP');
    await send();
    expect(await untilTold(200, 'degraded', /stores spans late|does not store/)).toBeLessThan(tellMsMax);
    expect(await untilTold(200, 'degraded', /no worker has reported/)).toBeLessThan(tellMsMax);
    stack.worker.signal('SIGCONT');
    await untilOk();
  });

  it('while a worker has bodies under way and ends none: says that nothing is stored', async () => {
    showLogsOnFailure(stack);
    await untilOk();
    engine.hold(true);
    await send();
    expect(await untilTold(200, 'degraded', /does not store them: a worker has processed bodies/)).toBeLessThan(
      tellMsMax,
    );
    engine.hold(false);
    await untilOk();
  });

  it('while bodies wait longer than they should: says that they are stored late', async () => {
    showLogsOnFailure(stack);
    await untilOk();
    await stack.ingest.pause();
    await send();
    expect(await untilTold(200, 'degraded', /stores spans late/)).toBeLessThan(tellMsMax);
    await stack.ingest.resume();
    await untilOk();
  });

  function postEvent() {
    const data = { id: `user_${randomUUID()}`, object: 'user', deleted: true };
    const body = JSON.stringify({ type: 'user.deleted', object: 'event', data, timestamp: Date.now() });
    return postWebhook(stack.apiUrl, 'clerk', body, standardHeaders(body, 'svix'));
  }
});
