import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { cachedFor } from '../../../src/lib/cached-for.ts';
import { closest } from '../../../src/lib/closest.ts';
import { isId, newId } from '../../../src/lib/ids.ts';
import { formatUsd } from '../../../src/lib/money.ts';
import { durationMs, isoFromUnixNano, unixNanoFromDate } from '../../../src/lib/time.ts';
import { TimeoutError, within } from '../../../src/lib/within.ts';

const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

describe('newId', () => {
  test('of any time has its prefix and shape', () => {
    fc.assert(fc.property(fc.nat({ max: 2 ** 48 }), (ms) => isId('prj', newId('prj', ms))));
  });
  test('of a later millisecond sorts later', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 48 }), fc.integer({ min: 1, max: 2 ** 40 }), (ms, plus) => {
        expect(newId('key', ms) < newId('key', ms + plus)).toBe(true);
      }),
    );
  });
  test('given a thousand times within one millisecond is never the same', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => newId('evt', 1))).size).toBe(1_000);
  });
});

describe('isId', () => {
  const id = newId('prj');
  test.each(['', 'prj_', id.slice(0, -1), `${id}0`, id.toUpperCase(), id.replace('prj', 'key'), `${id.slice(0, -1)}u`])(
    'of "%s" is false',
    (text) => {
      expect(isId('prj', text)).toBe(false);
    },
  );
});

describe('formatUsd', () => {
  test.each([
    [0n, '0.000000'],
    [1n, '0.000000001'],
    [1_000n, '0.000001'],
    [1_234_000n, '0.001234'],
    [1_234_500n, '0.0012345'],
    [10n ** 9n, '1.000000'],
    [-1_500_000_000n, '-1.500000'],
    [-1n, '-0.000000001'],
    [10n ** 20n, '100000000000.000000'],
  ])('of %s nano-USD is %s', (nano, text) => {
    expect(formatUsd(nano)).toBe(text);
  });
  test('loses nothing, whatever the amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }), (nano) => {
        const [, sign = '', whole = '', decimals = ''] = /^(-?)(\d+)\.(\d{6,9})$/.exec(formatUsd(nano)) ?? [];
        expect(BigInt(`${sign}${whole}${decimals.padEnd(9, '0')}`)).toBe(nano);
      }),
    );
  });
});

describe('times', () => {
  test('of any 64 bits of nanoseconds are RFC 3339 in UTC', () => {
    fc.assert(
      fc.property(uint64, (nano) => {
        const iso = isoFromUnixNano(nano);
        expect(iso).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect(unixNanoFromDate(new Date(iso))).toBe((nano / 1_000_000n) * 1_000_000n);
      }),
    );
  });
  test.each([
    ['0001-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59Z', '2554-07-21T23:34:33.709Z'],
  ])('%s is brought to the nearest that fits', (iso, nearest) => {
    expect(isoFromUnixNano(unixNanoFromDate(new Date(iso)))).toBe(nearest);
  });
  test('between two instants are milliseconds with decimals, never negative', () => {
    expect(durationMs(1_000_000n, 3_500_001n)).toBe(2.500001);
    fc.assert(fc.property(uint64, uint64, (start, end) => durationMs(start, end) >= 0));
  });
});

describe('closest', () => {
  const fields = ['status', 'from', 'to', 'limit', 'cursor'];
  test.each([
    ['statuss', 'status'],
    ['staus', 'status'],
    ['sttaus', 'status'],
    ['STATUS', 'status'],
    ['form', 'from'],
    ['curser', 'cursor'],
  ])('to %s is %s', (word, expected) => {
    expect(closest(word, fields)).toBe(expected);
  });
  test.each(['', 'x', 'verbose', 'name'])('to "%s" is nothing', (word) => {
    expect(closest(word, fields)).toBeUndefined();
  });
  test('to a word of a million letters is found quickly', () => {
    expect(closest('s'.repeat(1_000_000), fields)).toBeUndefined();
  });
});

describe('within', () => {
  test('gives the answer that came in time', async () => {
    await expect(within(1_000, async () => 'answer')).resolves.toBe('answer');
  });
  test('passes a failure on', async () => {
    const failure = new Error('no');
    await expect(within(1_000, () => Promise.reject(failure))).rejects.toBe(failure);
  });
  test('gives up after its time and tells the work so', async () => {
    let given: AbortSignal | undefined;
    const endless = within(5, (signal) => {
      given = signal;
      return new Promise(() => undefined);
    });
    await expect(endless).rejects.toThrow(TimeoutError);
    expect(given?.aborted).toBe(true);
  });
});

describe('cachedFor', () => {
  test('asks once for all who come while it waits, and again once the answer is old', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    let asked = 0;
    const read = cachedFor(1_000, async () => ++asked);
    expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
    vi.advanceTimersByTime(999);
    expect(await read()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await Promise.all([read(), read()])).toEqual([2, 2]);
    vi.useRealTimers();
  });
  test('keeps a failure as long as an answer', async () => {
    let asked = 0;
    const read = cachedFor(60_000, async () => {
      asked++;
      throw new Error('away');
    });
    await expect(read()).rejects.toThrow('away');
    await expect(read()).rejects.toThrow('away');
    expect(asked).toBe(1);
  });
});
