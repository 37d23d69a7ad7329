import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { summaryProjects } from '../../src/queue/summary-list.ts';
import { integerBetween, type Random, seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { startLoad } from '../support/sender.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { createWorkload } from '../support/workload.ts';

const loadMs = 6_000;
const drainMs = 45_000;
/** Of some 2,500 that are sent when nothing fails; the API is away half of the time. */
const spansMin = 300;

describe('kill -9 under load', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack?.stop());

  const victims = [
    ['the worker', () => stack.worker],
    ['ClickHouse', () => stack.engines.clickhouse],
    ['Redis', () => stack.engines.redis],
    ['the API', () => stack.api],
  ] as const;

  it.each(victims)('of %s, again and again: every acknowledged span is readable exactly once', async (name, victim) => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject(name);
    const load = startLoad({ apiUrl: stack.apiUrl, project, random, next: createWorkload(random).next });
    const kills = await killRepeatedly(victim(), random);
    const log = await load.finish();
    const drainedMs = await stack.untilIdle(drainMs);
    // What could not be summarized while ClickHouse was away is on the list of summaries.
    await until(
      'nothing waits to be summarized',
      drainMs,
      async () => (await summaryProjects(stack.redis)).length === 0,
    );
    await expectExactlyOnce(stack, project, log);
    expect(log.acknowledged.size).toBeGreaterThan(spansMin);
    const retried = JSON.stringify(Object.fromEntries(log.retried));
    console.log(
      `${name}: ${kills} kills, ${log.acknowledged.size} spans, drained in ${drainedMs} ms, retried ${retried}`,
    );
  });
});

async function killRepeatedly(
  victim: { kill: () => Promise<void>; start: () => Promise<void> },
  random: Random,
): Promise<number> {
  const endMs = Date.now() + loadMs;
  let kills = 0;
  while (Date.now() < endMs) {
    await delay(integerBetween(random, 500, 1_500));
    await victim.kill();
    kills++;
    await delay(integerBetween(random, 50, 700));
    await victim.start();
  }
  return kills;
}
