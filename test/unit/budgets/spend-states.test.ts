import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Budget } from '../../../src/domains/budgets/budget.ts';
import type { Spend } from '../../../src/domains/budgets/spend-queries.ts';
import { SpendStates } from '../../../src/domains/budgets/spend-states.ts';
import { RateLimitedError } from '../../../src/lib/errors.ts';

const budget: Budget = {
  ...{ projectId: 'prj_1', workspaceId: 'ws_1', version: 1, updatedAt: new Date(0), amountNanoUsd: 10n, enabled: true },
  ...{ period: 'monthly', timezone: 'UTC', thresholds: [1], enforcement: 'block_render', scopes: [], webhookIds: null },
};

/** Reads that the test ends itself. */
let reads: { resolve: (spend: Spend) => void; reject: (error: Error) => void }[];
let failures: unknown[];
let states: SpendStates;
beforeEach(() => {
  vi.useFakeTimers({
    now: Date.parse('2026-05-10T00:00:00Z'),
    toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'],
  });
  reads = [];
  failures = [];
  states = new SpendStates({
    read: () => new Promise((resolve, reject) => reads.push({ resolve, reject })),
    onFailure: (error) => failures.push(error),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const spent = (total: bigint): Spend => ({ total, scopes: [], unpricedSpans: 0, unpricedTokens: 0, days: new Map() });
const find = async (of: Budget = budget) => (await states.find(of))?.spend.total;

/** Finds a state after the read in progress has ended with a spend. */
async function findRead(total: bigint) {
  const found = find();
  reads.at(-1)?.resolve(spent(total));
  return found;
}

test('a state of 31 s is used without a wait while the next one is read, which is used then', async () => {
  expect(await findRead(10n)).toBe(10n);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(await Promise.all([find(), find()])).toEqual([10n, 10n]);
  expect(reads).toHaveLength(2);
  reads[1]?.resolve(spent(11n));
  await vi.advanceTimersByTimeAsync(0);
  expect([await find(), reads.length]).toEqual([11n, 2]);
});

test('a state of 5 min is used after 1.5 s when the next one is late, and the next one when it is not', async () => {
  await findRead(10n);
  await vi.advanceTimersByTimeAsync(300_000);
  const late = find();
  await vi.advanceTimersByTimeAsync(1_500);
  expect(await late).toBe(10n);
  expect(await findRead(12n)).toBe(12n);
});

test('a state is used for ten minutes after failed reads, which are 5 s apart, and not longer', async () => {
  await findRead(10n);
  await vi.advanceTimersByTimeAsync(500_000);
  const failed = find();
  reads[1]?.reject(new Error('away'));
  expect([await failed, await find(), reads.length, failures.length]).toEqual([10n, 10n, 2, 1]);
  await vi.advanceTimersByTimeAsync(100_000);
  const over = find();
  reads[2]?.reject(new Error('away'));
  expect([await over, reads.length]).toEqual([undefined, 3]);
});

test('a read that had no place is repeated soon', async () => {
  const failed = find();
  reads[0]?.reject(new RateLimitedError('workspace_busy', 'busy', { retryAfterS: 1 }));
  expect([await failed, reads.length]).toEqual([undefined, 1]);
  await vi.advanceTimersByTimeAsync(300);
  expect([await findRead(10n), reads.length]).toEqual([10n, 2]);
});

test('the state of another version or of another period is not used', async () => {
  await findRead(10n);
  const changed = find({ ...budget, version: 2 });
  await vi.advanceTimersByTimeAsync(1_500);
  expect(await changed).toBeUndefined();
  vi.setSystemTime(Date.parse('2026-06-01T00:00:00Z'));
  const later = find();
  await vi.advanceTimersByTimeAsync(1_500);
  expect(await later).toBeUndefined();
});
