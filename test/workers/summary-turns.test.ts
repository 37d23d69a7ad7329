import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { SummaryTurns } from '../../src/domains/summaries/summary-turns.ts';
import { newId } from '../../src/lib/ids.ts';
import { LogProjects } from '../../src/queue/log-projects.ts';
import { leaseSummaries, listForSummary, summaryProjects } from '../../src/queue/summary-list.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
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

describe('a large trace whose reading takes longer than a lease', () => {
  // Leases are by the clock of the process, and renewed by an interval; the engines answer in real time.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  test('is no other worker’s meanwhile, and is off the list when it is done', async () => {
    const project = { projectId: newId('prj'), workspaceId: newId('wsp') };
    const traceId = newTraceId();
    await storeSpans(clickhouse, { id: project.projectId, key: '', ...project }, { traceId, count: 2_001 });
    await listForSummary(redis, project, [traceId]);
    const begun: string[] = [];
    let end: (summarized: { tookMs: number; isLeft: boolean }) => void = () => expect.unreachable('It has not begun');
    const turns = new SummaryTurns(
      {
        clickhouse,
        redis,
        logProjects: new LogProjects(redis),
        logger: createLogger({ level: 'silent', name: 'test' }),
      },
      (task) => {
        begun.push(task.traceId);
        return new Promise((resolve) => {
          end = resolve;
        });
      },
    );
    const turn = turns.take([project], new AbortController().signal);
    await until('it is being read', 30_000, () => begun.length > 0);
    for (let passedS = 0; passedS < 60; passedS += 2) {
      await vi.advanceTimersByTimeAsync(2_000);
      expect([passedS, (await leaseSummaries(redis, project, 10)).traceIds]).toEqual([passedS, []]);
    }
    end({ tookMs: 60_000, isLeft: false });
    await turn;
    expect(begun).toEqual([traceId]);
    expect((await summaryProjects(redis)).map(({ projectId }) => projectId)).not.toContain(project.projectId);
  });
});
