import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import type { SummarizedInThread, SummaryTask } from '../../src/domains/summaries/summary-thread.ts';
import { SummaryTurns } from '../../src/domains/summaries/summary-turns.ts';
import { newId } from '../../src/lib/ids.ts';
import { LogProjects } from '../../src/queue/log-projects.ts';
import { leaseSummaries, listForSummary, summaryProjects } from '../../src/queue/summary-list.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { summaryKeys } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { newTraceId } from '../support/spans.ts';
import { storeSpans } from '../support/stored-spans.ts';
import { until } from '../support/until.ts';

let redis: Redis;
let clickhouse: ClickHouse;
beforeAll(() => {
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  // A database that no worker looks into.
  redis = connectWorkerRedis(ownRedisUrl(9));
});
afterAll(async () => {
  redis.disconnect();
  await clickhouse.close();
});

function turnsWith(runInThread: (task: SummaryTask) => Promise<SummarizedInThread>): SummaryTurns {
  const logger = createLogger({ level: 'silent', name: 'test' });
  return new SummaryTurns({ clickhouse, redis, logProjects: new LogProjects(redis), logger }, runInThread);
}

async function listLargeTrace() {
  const project = { projectId: newId('prj'), workspaceId: newId('wsp') };
  const traceId = newTraceId();
  await storeSpans(clickhouse, { id: project.projectId, key: '', ...project }, { traceId, count: 2_001 });
  await listForSummary(redis, project, [traceId]);
  return { project, traceId };
}

describe('a large trace whose reading takes longer than a lease', () => {
  // Leases are by the clock of the process, and renewed by an interval; the engines answer in real time.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  test('is no other worker’s meanwhile, and is off the list when it is done', async () => {
    const { project, traceId } = await listLargeTrace();
    const begun: string[] = [];
    let end: (summarized: SummarizedInThread) => void = () => expect.unreachable('It has not begun');
    const turns = turnsWith((task) => {
      begun.push(task.traceId);
      return new Promise((resolve) => {
        end = resolve;
      });
    });
    const turn = turns.take([project], new AbortController().signal);
    await until('it is being read', 30_000, () => begun.length > 0);
    for (let passedS = 0; passedS < 60; passedS += 2) {
      await vi.advanceTimersByTimeAsync(2_000);
      expect([passedS, (await leaseSummaries(redis, project, 10)).traceIds]).toEqual([passedS, []]);
    }
    end({ tookMs: 60_000, isLeft: false, joined: 0 });
    await turn;
    expect(begun).toEqual([traceId]);
    expect((await summaryProjects(redis)).map(({ projectId }) => projectId)).not.toContain(project.projectId);
  });
});

describe('a large trace whose log records are not all joined', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['of which some were joined rests for 10 s, as any other', 2_500, { dueInMs: 10_000, failures: null }],
    ['of which none were joined pauses longer than before', 0, { dueInMs: 2_000, failures: '2' }],
  ])('%s', async (_what, joined, expected) => {
    const { project, traceId } = await listLargeTrace();
    const { due, failures } = summaryKeys(project.projectId);
    await redis.hset(failures, traceId, 1);
    const turns = turnsWith(async () => ({ tookMs: 60_000, isLeft: true, joined }));
    await turns.take([project], new AbortController().signal);
    const dueInMs = Number(await redis.zscore(due, traceId)) - Date.now();
    expect({ dueInMs, failures: await redis.hget(failures, traceId) }).toEqual(expected);
  });
});

describe('a turn that is over before its traces are summarized', () => {
  // Leases are by the clock of the process.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  /** Each look at the monotonic clock finds that more than half a turn has passed. */
  function hurry(): void {
    let nowMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 600));
  }

  test('leaves the groups of small traces that it has not begun: they are due again after half a second', async () => {
    const project = { projectId: newId('prj'), workspaceId: newId('wsp') };
    const { due } = summaryKeys(project.projectId);
    const begunAtMs = Date.now();
    // Traces without spans. A group has a hundred.
    await listForSummary(redis, project, Array.from({ length: 150 }, newTraceId));
    const turns = turnsWith(async () => expect.unreachable('None is large'));
    hurry();
    await turns.take([project], new AbortController().signal);
    expect([await redis.zcard(due), await redis.zcount(due, begunAtMs + 500, begunAtMs + 500)]).toEqual([50, 50]);
    vi.setSystemTime(begunAtMs + 500);
    await turns.take([project], new AbortController().signal);
    expect(await redis.zcard(due)).toBe(0);
  });

  test('takes one trace that is read alone if it has done nothing else', async () => {
    const project = { projectId: newId('prj'), workspaceId: newId('wsp') };
    const traceIds = [newTraceId(), newTraceId()];
    for (const traceId of traceIds)
      await storeSpans(clickhouse, { id: project.projectId, key: '', ...project }, { traceId, count: 2_001 });
    await listForSummary(redis, project, traceIds);
    const begun: string[] = [];
    const turns = turnsWith(async ({ traceId }) => {
      begun.push(traceId);
      return { tookMs: 2_000, isLeft: false, joined: 0 };
    });
    hurry();
    await turns.take([project], new AbortController().signal);
    expect(begun).toEqual(traceIds.toSorted().slice(0, 1));
  });
});
