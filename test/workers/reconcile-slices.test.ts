import { randomUUID } from 'node:crypto';
import { ClickHouseError } from '@clickhouse/client';
import type { Queue } from 'bullmq';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { reconcileSummaries } from '../../src/domains/summaries/reconcile-summaries.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { summariesSliceKey, summariesSweptKey } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { ownRedisUrl } from '../support/own-redis.ts';

let api: TestApi;
let clickhouse: ClickHouse;
let redis: Redis;
/** In which nothing waits. */
let queue: Queue;

beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  // A database that no other reconciler uses.
  redis = connectWorkerRedis(ownRedisUrl(5));
  queue = connectQueue(`ingest-of-${randomUUID()}`, redis);
});
afterAll(async () => {
  redis.disconnect();
  await clickhouse.close();
  await api.close();
});

const minuteMs = 60_000;
/** Nothing was received in the three hours from here on. */
const startMs = Date.now() + 60 * 24 * 60 * minuteMs;
const nowMs = startMs + 180 * minuteMs;

/** A time window, in minutes from the start. */
interface Minutes {
  from: number;
  to: number;
}

const minutesOf = (fromMs: number, toMs: number): Minutes => ({
  from: (fromMs - startMs) / minuteMs,
  to: (toMs - startMs) / minuteMs,
});
const has = ({ from, to }: Minutes, minute: number) => from <= minute && minute < to;

beforeEach(async () => {
  await redis.set(summariesSweptKey, startMs);
  await redis.del(summariesSliceKey);
});

const sweptMinute = async () => minutesOf(Number(await redis.get(summariesSweptKey)), 0).from;

const messages: Record<string, string> = {
  '159': 'Timeout exceeded: elapsed 10000 ms, maximum: 10000 ms. ',
  '202': 'Too many simultaneous queries. Maximum: 100. ',
  '241': 'Query memory limit exceeded: would use 1.87 GiB, maximum: 1.86 GiB. ',
  '246': 'Data part is broken. ',
};
const ofTheServer = '(total) memory limit exceeded: would use 9.01 GiB, maximum: 9.00 GiB. ';

/**
 * Reconciles once with a ClickHouse that refuses the windows for which `refuse` returns a code or a
 * message of the code 241. Returns the windows it was asked for, and the lines of the log.
 */
async function reconcile(refuse: (window: Minutes, nth: number) => string | undefined) {
  const asked: Minutes[] = [];
  const lines: Record<string, unknown>[] = [];
  const secondsMax = new Set<unknown>();
  const exec: ClickHouse['exec'] = async (params) => {
    const { fromMs, toMs } = params.query_params as { fromMs: number; toMs: number };
    secondsMax.add(params.clickhouse_settings?.max_execution_time);
    const refused = refuse(minutesOf(fromMs, toMs), asked.push(minutesOf(fromMs, toMs)));
    if (refused === undefined) return clickhouse.exec(params);
    const [code, message] = refused in messages ? [refused, messages[refused] ?? ''] : ['241', refused];
    throw new ClickHouseError({ code, message, type: 'SOME_ERROR' });
  };
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const deps = {
    ...{ clickhouse: Object.assign(Object.create(clickhouse), { exec }), postgres: api.postgres, redis },
    ...{ ingest: [queue], isolation: queue, logger: createLogger({ level: 'warn', name: 'test', destination }) },
  };
  const failure: unknown = await reconcileSummaries(deps, { nowMs }).catch((error: unknown) => error);
  return { asked, lines, failure, secondsMax: [...secondsMax], swept: asked.filter(({ from }) => from < 165) };
}

test.each([
  ['takes too long', '159'],
  ['takes too much memory', '241'],
  ['reads a broken part', '246'],
])('a slice whose query %s halves to five minutes, which are skipped with a warning', async (_what, code) => {
  const { swept, lines, failure } = await reconcile((window) => (has(window, 17) ? code : undefined));
  expect(failure).toBeUndefined();
  expect(swept[0]).toEqual({ from: 0, to: 60 });
  const [skipped] = swept.filter((window) => has(window, 17)).slice(-1);
  expect(skipped && skipped.to - skipped.from).toBe(5);
  expect(lines).toMatchObject([
    { msg: 'spans could not be compared with executions', from_ms: startMs + (skipped?.from ?? 0) * minuteMs },
  ]);
  // What lies around it was compared, to the end; the next run begins again.
  expect(swept.some((window) => has(window, skipped?.to ?? 0))).toBe(true);
  expect(swept.at(-1)?.to).toBeGreaterThanOrEqual(165);
  expect(await sweptMinute()).toBeLessThan(-29 * 24 * 60);
});

test.each([
  ['is overloaded', '202'],
  ['has no memory left', ofTheServer],
])('a ClickHouse that %s ends the run, and the next one goes on at the same slice', async (_what, away) => {
  const one = await reconcile((window) => (has({ from: 60, to: 165 }, window.from) ? away : undefined));
  expect(one.failure).toMatchObject({ code: 'clickhouse_unavailable' });
  expect(one.lines).toEqual([]);
  expect(one.swept.map(({ from }) => from)).toEqual([0, 60]);
  expect(await sweptMinute()).toBe(60);
  const other = await reconcile(() => undefined);
  expect(other.failure).toBeUndefined();
  expect(other.swept[0]).toMatchObject({ from: 60 });
});

test('a slice that halved stays so in the next run', async () => {
  // The second query of the sweep comes when ClickHouse is away.
  const one = await reconcile((_window, nth) => [undefined, '159', '202'][nth - 1]);
  expect(one.swept).toEqual([
    { from: 0, to: 60 },
    { from: 0, to: 30 },
  ]);
  const other = await reconcile(() => undefined);
  expect(other.swept[0]).toEqual({ from: 0, to: 30 });
});

test('the last ten minutes are skipped in the same way, and the sweep goes on', async () => {
  const { asked, lines, failure } = await reconcile((window) => (has(window, 175) ? '241' : undefined));
  expect(failure).toBeUndefined();
  expect(asked.slice(0, 3).map(({ from, to }) => Math.round(to - from))).toEqual([10, 5, 5]);
  expect(asked[3]).toEqual({ from: 0, to: 60 });
  expect(lines.length).toBeGreaterThan(0);
});

test('a query ends before a worker stops waiting for it', async () => {
  const { secondsMax } = await reconcile(() => undefined);
  // `insertTimeoutMs` of workers/clients.ts is 15 s.
  expect(secondsMax).toEqual([10]);
});
