import { afterAll, beforeAll, describe, it } from 'vitest';
import { type ClickHouseProxy, startClickHouseProxy } from '../support/clickhouse-proxy.ts';
import { seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { startLoad } from '../support/sender.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { createWorkload } from '../support/workload.ts';

const lostRepliesMin = 8;

describe('the answers of ClickHouse', () => {
  let stack: Stack;
  let proxy: ClickHouseProxy;
  beforeAll(async () => {
    stack = await startStack({
      workerClickHouseUrl: async (url) => {
        proxy = await startClickHouseProxy(url);
        return proxy.url;
      },
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await proxy?.close();
  });

  it('get lost after every third insert: nothing is lost and nothing is there twice', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('replies');
    proxy.loseReplyOfEvery(3);
    const load = startLoad({ apiUrl: stack.apiUrl, project, random, next: createWorkload(random).next });
    await until('replies were lost', 30_000, () => proxy.lostReplies() >= lostRepliesMin);
    const log = await load.finish();
    const drainedMs = await stack.untilIdle(30_000);
    await expectExactlyOnce(stack, project, log);
    console.log(`${proxy.lostReplies()} replies lost: ${log.acknowledged.size} spans, drained in ${drainedMs} ms`);
  });
});
