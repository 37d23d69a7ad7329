import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  endSummary,
  failSummary,
  leaseSummaries,
  listForSummary,
  oldestDueSummaryAtMs,
  recountSummaries,
  releaseSummaries,
  renewSummaries,
  summaryProjects,
} from '../../src/queue/summary-list.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { summaryKeys, summaryTracesKey } from '../../src/stores/redis/names.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { until } from '../support/until.ts';

let redis: Redis;
let project: { workspaceId: string; projectId: string };
beforeAll(() => {
  // A database that no worker looks into.
  redis = connectWorkerRedis(ownRedisUrl(9));
});
afterAll(() => redis.disconnect());
afterEach(() => void vi.useRealTimers());
beforeEach(() => {
  project = { workspaceId: `wsp_${randomUUID()}`, projectId: `prj_${randomUUID()}` };
});

const isListed = async () => (await summaryProjects(redis)).some(({ projectId }) => projectId === project.projectId);

describe('the list of summaries', () => {
  test('of no traces sends nothing to Redis', async () => {
    expect(await listForSummary(redis, project, [])).toBe(0);
    expect(await isListed()).toBe(false);
  });

  test('has a trace once, gives it to one worker, and forgets it and its project when it is done', async () => {
    expect(await listForSummary(redis, project, ['a', 'b'])).toBe(2);
    expect(await listForSummary(redis, project, ['b'])).toBe(0);
    const lease = await leaseSummaries(redis, project, 10);
    expect(lease.traceIds.toSorted()).toEqual(['a', 'b']);
    expect((await leaseSummaries(redis, project, 10)).traceIds).toEqual([]);
    expect(await isListed()).toBe(true);
    for (const traceId of lease.traceIds) await endSummary(redis, lease, traceId, 0);
    expect(await isListed()).toBe(false);
  });

  test('counts the traces of a workspace in all of its projects, each once', async () => {
    const sibling = { ...project, projectId: `prj_${randomUUID()}` };
    const count = () => redis.hget(summaryTracesKey, project.workspaceId);
    await listForSummary(redis, project, ['a', 'b']);
    await listForSummary(redis, sibling, ['a']);
    await listForSummary(redis, project, ['a']);
    expect(await count()).toBe('3');
    const [lease, other] = [await leaseSummaries(redis, project, 10), await leaseSummaries(redis, sibling, 10)];
    await listForSummary(redis, project, ['a']);
    for (const traceId of lease.traceIds) await endSummary(redis, lease, traceId, 0);
    expect(await count()).toBe('2');
    await endSummary(redis, other, 'a', 0);
    await endSummary(redis, await leaseSummaries(redis, project, 10), 'a', 0);
    expect(await count()).toBeNull();
  });

  test('is counted anew, whatever the counts were', async () => {
    await listForSummary(redis, project, ['a', 'b']);
    await redis.hset(summaryTracesKey, { [project.workspaceId]: 7, gone: 3 });
    await recountSummaries(redis);
    expect(await redis.hmget(summaryTracesKey, project.workspaceId, 'gone')).toEqual(['2', null]);
  });

  test('tells since when the longest waiting trace is due; not of traces that a worker has, or that rest after a failure', async () => {
    await redis.flushdb();
    expect(await oldestDueSummaryAtMs(redis)).toBeUndefined();
    const other = { ...project, projectId: `prj_${randomUUID()}` };
    await listForSummary(redis, other, ['x']);
    vi.useFakeTimers({ now: Date.now() - 60_000, toFake: ['Date'] });
    const listedAtMs = Date.now();
    await listForSummary(redis, project, ['a']);
    expect(await oldestDueSummaryAtMs(redis)).toBe(listedAtMs);
    vi.useRealTimers();
    const lease = await leaseSummaries(redis, project, 10);
    expect(await oldestDueSummaryAtMs(redis)).toBeGreaterThan(listedAtMs + 59_000);
    await failSummary(redis, lease, 'a');
    await endSummary(redis, await leaseSummaries(redis, other, 10), 'x', 0);
    expect(await oldestDueSummaryAtMs(redis)).toBeGreaterThan(Date.now());
  });

  test('keeps a trace of which more came while a worker had it, until it has rested', async () => {
    await listForSummary(redis, project, ['a']);
    const lease = await leaseSummaries(redis, project, 10);
    expect(await listForSummary(redis, project, ['a'])).toBe(0);
    expect((await leaseSummaries(redis, project, 10)).traceIds).toEqual([]);
    const endedAtMs = Date.now();
    await endSummary(redis, lease, 'a', 400);
    const again = await until('it is due', 10_000, async () => {
      const { traceIds } = await leaseSummaries(redis, project, 10);
      return traceIds.length > 0 && traceIds;
    });
    expect(again).toEqual(['a']);
    expect(Date.now() - endedAtMs).toBeGreaterThanOrEqual(399);
  });

  test('gives a trace that is put on it while it rests only after its rest', async () => {
    await listForSummary(redis, project, ['a']);
    await endSummary(redis, await leaseSummaries(redis, project, 10), 'a', 60_000);
    expect(await listForSummary(redis, project, ['a'])).toBe(1);
    expect((await leaseSummaries(redis, project, 10)).traceIds).toEqual([]);
  });

  test('does not get back a trace that failed for one worker after another one has finished it', async () => {
    await listForSummary(redis, project, ['a']);
    const frozen = await leaseSummaries(redis, project, 10);
    vi.useFakeTimers({ now: Date.now() + 60_000, toFake: ['Date'] });
    await endSummary(redis, await leaseSummaries(redis, project, 10), 'a', 0);
    vi.useRealTimers();
    await failSummary(redis, frozen, 'a');
    expect(await isListed()).toBe(false);
    expect(await redis.exists(summaryKeys(project.projectId).failures)).toBe(0);
  });

  test('keeps a trace that failed, and gives it later every time', async () => {
    await listForSummary(redis, project, ['a']);
    const lease = await leaseSummaries(redis, project, 10);
    const pauses: number[] = [];
    for (let n = 0; n < 14; n++) {
      const before = Date.now();
      await failSummary(redis, lease, 'a');
      pauses.push(Math.round((Number(await redis.zscore(summaryKeys(project.projectId).due, 'a')) - before) / 1_000));
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600, 600]);
    expect((await leaseSummaries(redis, project, 10)).traceIds).toEqual([]);
    expect(await isListed()).toBe(true);
  });

  test('gives what was released to the next', async () => {
    await listForSummary(redis, project, ['a', 'b']);
    const lease = await leaseSummaries(redis, project, 10);
    await releaseSummaries(redis, lease, ['b'], 0);
    expect((await leaseSummaries(redis, project, 10)).traceIds).toEqual(['b']);
  });

  test('gives what was released to the next, although more of it came while a worker had it', async () => {
    await listForSummary(redis, project, ['a']);
    const lease = await leaseSummaries(redis, project, 10);
    await listForSummary(redis, project, ['a']);
    await releaseSummaries(redis, lease, ['a'], 0);
    expect((await leaseSummaries(redis, project, 10)).traceIds).toEqual(['a']);
  });

  test('a lease that is renewed goes on, and ends as any other', async () => {
    await listForSummary(redis, project, ['a', 'b', 'c']);
    const lease = await leaseSummaries(redis, project, 10);
    const dueOf = async (traceId: string) => Number(await redis.zscore(summaryKeys(project.projectId).due, traceId));
    await listForSummary(redis, project, ['b']);
    const before = await Promise.all(['a', 'b'].map(dueOf));
    await until('time passes', 1_000, () => Date.now() > Math.max(...before) - 15_000 + 5);
    const renewed = renewSummaries(redis, lease, ['a', 'b', 'c']);
    const ended = endSummary(redis, lease, 'a', 0);
    await Promise.all([renewed, ended]);
    expect(await redis.zscore(summaryKeys(project.projectId).due, 'a')).toBeNull();
    expect(await dueOf('b')).toBeGreaterThan(before[1] ?? 0);
    await releaseSummaries(redis, lease, ['b', 'c'], 0);
    expect((await leaseSummaries(redis, project, 10)).traceIds.toSorted()).toEqual(['b', 'c']);
  });

  test('a trace that gets further spans in a long pause after failures is due after 10 s; without them, after the pause', async () => {
    await listForSummary(redis, project, ['a', 'b']);
    const lease = await leaseSummaries(redis, project, 10);
    for (let failure = 0; failure < 6; failure++)
      for (const traceId of ['a', 'b']) await failSummary(redis, lease, traceId);
    await listForSummary(redis, project, ['a']);
    const dueInMs = async (id: string) =>
      Number(await redis.zscore(summaryKeys(project.projectId).due, id)) - Date.now();
    expect(await dueInMs('a')).toBeLessThanOrEqual(10_000);
    expect(await dueInMs('a')).toBeGreaterThan(5_000);
    expect(await dueInMs('b')).toBeGreaterThan(25_000);
    await listForSummary(redis, project, ['a']);
    expect(await dueInMs('a')).toBeLessThanOrEqual(10_000);
  });

  test('gives the traces of a worker that died to the next after 15 s', async () => {
    const leasedAtMs = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: leasedAtMs });
    await listForSummary(redis, project, ['a']);
    await leaseSummaries(redis, project, 10);
    vi.setSystemTime(leasedAtMs + 14_999);
    expect((await leaseSummaries(redis, project, 10)).traceIds).toEqual([]);
    vi.setSystemTime(leasedAtMs + 15_001);
    expect((await leaseSummaries(redis, project, 10)).traceIds).toEqual(['a']);
  });

  test('takes 150,000 traces of one batch', async () => {
    const traceIds = Array.from({ length: 150_000 }, (_, index) => index.toString(16).padStart(32, '0'));
    expect(await listForSummary(redis, project, traceIds)).toBe(150_000);
    expect(await redis.zcard(summaryKeys(project.projectId).due)).toBe(150_000);
    await redis.del(summaryKeys(project.projectId).due);
  });
});
