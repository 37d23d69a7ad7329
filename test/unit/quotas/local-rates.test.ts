import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RateCheck } from '../../../src/domains/quotas/limit-check.ts';
import { LocalRates } from '../../../src/domains/quotas/local-rates.ts';

const check = (given: Partial<RateCheck> = {}): RateCheck => ({
  kind: 'rate',
  name: 'read',
  key: 'wsp_a:rate:read',
  cost: 1,
  limit: 10,
  windowMs: 60_000,
  ...given,
});

function ratesAt() {
  const clock = { nowMs: 0 };
  return { clock, rates: new LocalRates(() => clock.nowMs) };
}

describe('rates of one process', () => {
  test('let exactly the limit through at once, and say when there is room again', () => {
    const { clock, rates } = ratesAt();
    const granted = Array.from({ length: 25 }, () => rates.check([check()]).granted);
    expect(granted.filter(Boolean)).toHaveLength(10);
    expect(rates.check([check()]).results[0]).toMatchObject({ remaining: 0, resetMs: 60_000, retryMs: 6_000 });
    clock.nowMs += 5_999;
    expect(rates.check([check()]).granted).toBe(false);
    clock.nowMs += 1;
    expect(rates.check([check()]).granted).toBe(true);
    expect(rates.check([check()]).granted).toBe(false);
  });

  test('check on nothing when one of several limits refuses', () => {
    const { rates } = ratesAt();
    const bytes = check({ key: 'wsp_a:rate:ingest_bytes', name: 'ingest_bytes', cost: 60, limit: 100 });
    expect(rates.check([check(), bytes]).granted).toBe(true);
    expect(rates.check([check(), bytes]).granted).toBe(false);
    expect(rates.check([check({ cost: 0 })]).results[0]?.remaining).toBe(9);
    expect(rates.check([{ ...bytes, cost: 40 }]).granted).toBe(true);
  });

  test('refuse everything under a limit of 0, and what is larger than its limit for a whole window', () => {
    const { rates } = ratesAt();
    expect(rates.check([check({ limit: 0 })])).toMatchObject({ granted: false, results: [{ retryMs: 60_000 }] });
    expect(rates.check([check({ cost: 11 })])).toMatchObject({ granted: false, results: [{ retryMs: 60_000 }] });
  });

  test('let no window through more than the limit and what drained meanwhile, wherever it begins', () => {
    const arrivals = fc.array(fc.record({ afterMs: fc.nat({ max: 20_000 }), cost: fc.integer({ min: 1, max: 5 }) }), {
      maxLength: 80,
    });
    fc.assert(
      fc.property(arrivals, (list) => {
        const { clock, rates } = ratesAt();
        const passed: { atMs: number; cost: number }[] = [];
        for (const { afterMs, cost } of list) {
          clock.nowMs += afterMs;
          if (rates.check([check({ cost })]).granted) passed.push({ atMs: clock.nowMs, cost });
        }
        for (const [index, { atMs: fromMs }] of passed.entries()) {
          let units = 0;
          for (const { atMs, cost } of passed.slice(index)) {
            units += cost;
            expect(units).toBeLessThanOrEqual(10 + ((atMs - fromMs) * 10) / 60_000 + 1e-6);
          }
        }
      }),
    );
  });
});
