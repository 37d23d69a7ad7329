import { describe, expect, test } from 'vitest';
import { LargeReads } from '../../../src/http/large-reads.ts';

const mebibyte = 1024 * 1024;
const signal = new AbortController().signal;
const read = { operationId: 'listVersions', rateClass: 'read' } as const;

/** Milliseconds until the handler of a request begins. */
async function waitOf(reads: LargeReads, sharer: string, operationId: string = read.operationId): Promise<number> {
  const beganAtMs = performance.now();
  return reads.run({ operationId }, { sharer, waiter: { signal } }, async () => performance.now() - beganAtMs);
}

function shared(): LargeReads {
  return new LargeReads({ isShared: true });
}

describe('a sharer that reads large answers faster than 8 MiB/s', () => {
  test('waits for its time while others send requests', async () => {
    const reads = shared();
    reads.count(read, 'a', 9 * mebibyte);
    const waitMs = await waitOf(reads, 'a');
    expect(waitMs).toBeGreaterThan(200);
    expect(waitMs).toBeLessThan(1_500);
  });

  test('does not wait while nobody else sends requests', async () => {
    const reads = new LargeReads({ isShared: false });
    reads.count(read, 'a', 100 * mebibyte);
    expect(await waitOf(reads, 'a')).toBeLessThan(100);
  });

  test('owes nothing for what it has read alone, and never waits for more than four seconds', async () => {
    const company = { isShared: false };
    const reads = new LargeReads(company);
    reads.count(read, 'a', 10_000 * mebibyte);
    company.isShared = true;
    expect(await waitOf(reads, 'a')).toBeLessThan(100);
    reads.count(read, 'a', 10_000 * mebibyte);
    expect(await waitOf(reads, 'a')).toBeLessThan(4_500);
  });

  test('has one request at a time, and the next when the answer is counted', async () => {
    const reads = shared();
    reads.count(read, 'a', 7 * mebibyte);
    const begun: number[] = [];
    const one = () =>
      reads
        .run(read, { sharer: 'a', waiter: { signal } }, async () => begun.push(performance.now()))
        .then(() => reads.count(read, 'a', 3 * mebibyte));
    await Promise.all([one(), one()]);
    const [first = 0, second = 0] = begun;
    // 3 MiB take 375 ms.
    expect(second - first).toBeGreaterThan(200);
  });

  test('does not delay its other requests, nor those of others', async () => {
    const reads = shared();
    reads.count(read, 'a', 100 * mebibyte);
    expect(await waitOf(reads, 'a', 'getPrompt')).toBeLessThan(100);
    expect(await waitOf(reads, 'b')).toBeLessThan(100);
  });

  test('has half of the rate when another one does the same', async () => {
    const reads = shared();
    reads.count(read, 'b', 100 * mebibyte);
    reads.count(read, 'a', 9 * mebibyte);
    // 312 ms alone.
    expect(await waitOf(reads, 'a')).toBeGreaterThan(150);
  });
});

test.each([
  ['small ones', read, 60 * 1024],
  ['of requests without a rate', { operationId: 'listVersions', rateClass: 'none' }, mebibyte],
] as const)('very many answers that are %s do not count', async (_what, contract, bytes) => {
  const reads = shared();
  for (let n = 0; n < 1_000; n++) reads.count(contract, 'a', bytes);
  expect(await waitOf(reads, 'a')).toBeLessThan(100);
});
