import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { summaryProjects } from '../../src/queue/summary-list.ts';
import type { AppProcess } from '../support/app-process.ts';
import { seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { startLoad } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { createWorkload } from '../support/workload.ts';

/** As many as there are processors, and one more: the workers get less than half of what they need. */
const burners = 3;
/** Longer than the lock of a body, 12 s. */
const pauseMs = 15_000;
const betweenMs = 1_500;
const drainMs = 60_000;

describe('kills and pauses in a row, on a machine that has no processor left', () => {
  let stack: Stack;
  let other: AppProcess;
  beforeAll(async () => {
    stack = await startStack();
    other = await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  it('the workers store everything exactly once soon after, and try few bodies alone', async () => {
    showLogsOnFailure(stack);
    const { engines, worker } = stack;
    const projects = [await stack.createProject('one'), await stack.createProject('other')];
    const loads = projects.map((project) => [project, startLoadOf(project)] as const);
    const burning = startBurners();
    onTestFinished(() => stopAll(burning));
    for (const victim of [worker, engines.redis, engines.postgres, engines.clickhouse]) {
      await victim.kill();
      await victim.start();
      await delay(betweenMs);
    }
    await pause([worker.pid, other.pid]);
    await pause([engines.redis.pid]);
    await worker.kill();
    await worker.start();
    await pause([worker.pid, other.pid]);
    stopAll(burning);
    const logs = await Promise.all(loads.map(async ([project, load]) => [project, await load.finish()] as const));
    const drainedMs = await stack.untilIdle(drainMs);
    await until('no summary waits', drainMs, async () => (await summaryProjects(stack.redis)).length === 0);
    for (const [project, log] of logs) await expectExactlyOnce(stack, project, log);
    const acknowledged = logs.map(([, log]) => log.acknowledged.size);
    console.log(`${acknowledged.join(' and ')} spans, drained in ${drainedMs} ms, tried alone: ${await triedAlone()}`);
    expect(Math.min(...acknowledged)).toBeGreaterThan(300);
    expect(await triedAlone()).toBeLessThan(60);
  });

  function startLoadOf(project: Project) {
    const random = seededRandom();
    return startLoad({ apiUrl: stack.apiUrl, project, random, next: createWorkload(random).next });
  }

  /** Bodies that came to the queue of those that are tried alone. */
  async function triedAlone(): Promise<number> {
    const events = await stack.redis.xrange(stack.isolation.toKey('events'), '-', '+');
    return events.filter(([, fields]) => fields[fields.indexOf('event') + 1] === 'added').length;
  }
});

function startBurners(): ChildProcess[] {
  return Array.from({ length: burners }, () => spawn(process.execPath, ['-e', 'for (;;) {}'], { stdio: 'ignore' }));
}

function stopAll(children: readonly ChildProcess[]): void {
  for (const child of children) child.kill('SIGKILL');
}

async function pause(pids: readonly (number | undefined)[]): Promise<void> {
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pids) if (pid !== undefined) process.kill(pid, name);
  };
  signal('SIGSTOP');
  try {
    await delay(pauseMs);
  } finally {
    signal('SIGCONT');
  }
  await delay(betweenMs);
}
