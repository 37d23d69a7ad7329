import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { startLoad } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { createWorkload } from '../support/workload.ts';

const awayMs = 4_000;
const drainMs = 30_000;
/** Within ten seconds health must say what is; half of the outage is over when it is asked. */
const tellMsMax = 10_000 - awayMs / 2;

interface Health {
  status: string;
  checks: { clickhouse: { reason?: string } };
}

describe('ClickHouse under load', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack?.stop());

  it('is down for seconds: every POST is 200, reads say 503, and all is readable afterwards', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('down');
    const apiPid = stack.api.pid;
    const load = startLoad({ apiUrl: stack.apiUrl, project, random, next: createWorkload(random).next });
    await until('spans flow', 30_000, () => load.log.acknowledged.size > 100);
    await untilHealth('no reason');
    await stack.engines.clickhouse.kill();
    await delay(awayMs / 2);
    await expectReadsUnavailable(project);
    await delay(awayMs / 2);
    await stack.engines.clickhouse.start();
    const log = await load.finish();
    const drainedMs = await stack.untilIdle(drainMs);
    expect(Object.fromEntries(log.retried)).toEqual({});
    process.kill(apiPid, 0);
    await expectExactlyOnce(stack, project, log);
    console.log(`ClickHouse down ${awayMs} ms: ${log.acknowledged.size} spans, drained in ${drainedMs} ms`);
  });

  it('is frozen for seconds: every POST is 200, and the worker goes on once it thaws', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('frozen');
    const load = startLoad({ apiUrl: stack.apiUrl, project, random, next: createWorkload(random).next });
    await until('spans flow', 30_000, () => load.log.acknowledged.size > 100);
    await untilHealth('no reason');
    process.kill(stack.engines.clickhouse.pid, 'SIGSTOP');
    await Promise.all([delay(awayMs), expectTold()]);
    const log = await load.finish();
    process.kill(stack.engines.clickhouse.pid, 'SIGCONT');
    const drainedMs = await stack.untilIdle(drainMs);
    expect(Object.fromEntries(log.retried)).toEqual({});
    await expectExactlyOnce(stack, project, log);
    console.log(`ClickHouse frozen ${awayMs} ms: ${log.acknowledged.size} spans, drained in ${drainedMs} ms`);
  });

  it('is frozen while a workspace reads: nobody is told that it is their own doing, and soon all are told at once', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('reads of a frozen engine');
    const read = async (waitMs = 60_000) => {
      const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}/executions`, {
        headers: { 'X-API-Key': project.apiKey },
        signal: AbortSignal.timeout(waitMs),
      });
      const { code } = (await response.json()) as { code?: string };
      return code;
    };
    process.kill(stack.engines.clickhouse.pid, 'SIGSTOP');
    const asked = Array.from({ length: 20 }, () => read());
    await until('a read is refused at once', 15_000, async () => (await read(500)) === 'clickhouse_unavailable');
    process.kill(stack.engines.clickhouse.pid, 'SIGCONT');
    await until('reads are answered again', 5_000, async () => (await read()) === undefined);
    const codes = new Set(await Promise.all(asked));
    expect([...codes].filter((code) => code !== undefined && code !== 'clickhouse_unavailable')).toEqual([]);
  });

  async function expectReadsUnavailable(project: Project): Promise<void> {
    const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}/executions`, {
      headers: { 'X-API-Key': project.apiKey },
    });
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await response.json()).toMatchObject({ code: 'clickhouse_unavailable' });
    await expectTold();
  }

  /** The answer of health once its check of ClickHouse gives a reason, or none. */
  const untilHealth = (gives: 'a reason' | 'no reason') =>
    until(`health gives ${gives}`, tellMsMax, async () => {
      const answer = await fetch(`${stack.apiUrl}/api/health`);
      const { status, checks } = (await answer.json()) as Health;
      const { reason } = checks.clickhouse;
      return (reason === undefined) === (gives === 'no reason') && { code: answer.status, status, reason };
    });

  async function expectTold(): Promise<void> {
    const reason = 'accepts spans but does not store them: ClickHouse does not respond';
    expect(await untilHealth('a reason')).toEqual({ code: 200, status: 'degraded', reason });
  }
});
