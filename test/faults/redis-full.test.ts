import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryReserveKey } from '../../src/stores/redis/names.ts';
import { seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { post, SendLog } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { singleTraceBody } from '../support/workload.ts';

const bodies = 8;
/** Lines that a worker may write about it, whatever it does meanwhile. */
const logLinesMax = 150;

describe('Redis at its maxmemory', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack?.stop());

  const circumstances = [
    ['a worker that was frozen goes on', () => stack.worker.signal('SIGSTOP'), () => stack.worker.signal('SIGCONT')],
    ['a worker is started', () => stack.worker.kill(), () => stack.worker.start()],
  ] as const;

  it.each(circumstances)(
    '%s: drains what waits by itself, with few words, and reserves memory again',
    async (name, pause, resume) => {
      showLogsOnFailure(stack);
      const project = await stack.createProject(name);
      await until('memory is reserved', 10_000, hasReserve);
      await pause();
      const log = await sendBodies(project);
      await stack.redis.config('SET', 'maxmemory', String((await usedMemory()) - 20_000));
      const linesBefore = logLines();
      await resume();
      await stack.untilIdle(60_000);
      expect(logLines() - linesBefore).toBeLessThan(logLinesMax);
      await stack.redis.config('SET', 'maxmemory', '2gb');
      await until('memory is reserved again', 10_000, hasReserve);
      await until('all is readable', 10_000, async () => {
        await expectExactlyOnce(stack, project, log);
        return true;
      });
    },
  );

  const logLines = () => stack.worker.log().split('\n').length;
  const hasReserve = async () => (await stack.redis.exists(memoryReserveKey)) === 1;

  async function sendBodies(project: Project): Promise<SendLog> {
    const random = seededRandom();
    const log = new SendLog();
    for (let sent = 0; sent < bodies; sent++) {
      const body = singleTraceBody(random, 5, 'x'.repeat(50_000));
      await until(
        'a body is taken',
        10_000,
        async () => (await post(stack.apiUrl, project.apiKey, body)).status === 200,
      );
      for (const key of body.spanKeys) {
        log.attempted.add(key);
        log.acknowledged.add(key);
      }
    }
    return log;
  }

  async function usedMemory(): Promise<number> {
    return Number(/used_memory:(\d+)/.exec(await stack.redis.info('memory'))?.[1]);
  }
});
