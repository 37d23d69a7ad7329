import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../support/random.ts';
import { difference, expectExactlyOnce, readRawSpans, readSpans } from '../support/readable.ts';
import { SendLog, sendUntilAcknowledged } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { singleTraceBody } from '../support/workload.ts';

/** What the fault tests find must be what they can see: here the loss and the duplicates are made on purpose. */
describe('the harness', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack?.stop());

  async function sendOne(project: Project, random: () => number, log = new SendLog()) {
    const body = singleTraceBody(random, 5);
    await sendUntilAcknowledged({ apiUrl: stack.apiUrl, apiKey: project.apiKey, random, log }, body);
    return { body, log };
  }

  it('sees the loss when Redis forgets what was acknowledged', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('loss');
    const { log } = await sendOne(project, random);
    await stack.untilIdle(30_000);
    await stack.worker.kill();
    const { body } = await sendOne(project, random, log);
    const [, directory = ''] = await stack.redis.config('GET', 'dir').then((answer) => answer as string[]);
    await stack.engines.redis.kill();
    rmSync(join(directory, 'appendonlydir'), { recursive: true });
    await stack.engines.redis.start();
    await stack.worker.start();
    await stack.untilIdle(30_000);
    expect(difference(log, await readSpans(stack, project)).lost.toSorted()).toEqual(body.spanKeys.toSorted());
    await expect(expectExactlyOnce(stack, project, log)).rejects.toThrow();
  });

  it('sees duplicates when rows are delivered twice and read without FINAL, and none with it', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('duplicates');
    await stack.clickhouse.command({ query: 'SYSTEM STOP MERGES spans' });
    const { body, log } = await sendOne(project, random);
    await stack.untilIdle(30_000);
    for (const key of await stack.redis.keys(stack.ingest.toKey('b_*'))) await stack.redis.del(key);
    await sendUntilAcknowledged({ apiUrl: stack.apiUrl, apiKey: project.apiKey, random, log }, body);
    const rows = await until('the rows lie there twice', 30_000, async () => {
      const raw = await readRawSpans(stack, project);
      return raw.length > body.spanKeys.length && raw;
    });
    expect(difference(log, rows).twice.toSorted()).toEqual(body.spanKeys.toSorted());
    await stack.untilIdle(30_000);
    await expectExactlyOnce(stack, project, log);
  });
});
