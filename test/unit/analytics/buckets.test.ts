import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import {
  autoGranularity,
  bucketStarts,
  bucketsMax,
  granularities,
  hasFewBuckets,
  isTimeZone,
  nextStart,
} from '../../../src/domains/analytics/buckets.ts';
import { canonicalTimeZone } from '../../../src/lib/time.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const zones = ['UTC', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Europe/Berlin', 'Pacific/Apia'];
const window = (from: string, to: string) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) });
const isoOf = (starts: readonly number[]) => starts.map((ms) => new Date(ms).toISOString());

describe('the buckets of a window', () => {
  test('cover it without gaps, ascend and are few, in every zone', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...granularities),
        fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2040, 0) }),
        fc.integer({ min: 1, max: 40 * dayMs }),
        (zone, granularity, fromMs, lengthMs) => {
          const given = { fromMs, toMs: fromMs + lengthMs };
          fc.pre(hasFewBuckets(given, granularity));
          const starts = bucketStarts(given, granularity, zone);
          expect(starts.length).toBeLessThanOrEqual(bucketsMax);
          expect(starts[0]).toBeLessThanOrEqual(fromMs);
          expect(nextStart(starts[0] ?? 0, granularity, zone)).toBeGreaterThan(fromMs);
          expect(starts.at(-1)).toBeLessThan(given.toMs);
          expect(nextStart(starts.at(-1) ?? 0, granularity, zone)).toBeGreaterThanOrEqual(given.toMs);
          expect(starts.every((start, index) => index === 0 || start > (starts[index - 1] ?? 0))).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('are days of 23 and 25 hours where clocks change', () => {
    expect(isoOf(bucketStarts(window('2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z'), 'day', 'Europe/Berlin'))).toEqual(
      ['2026-03-27T23:00:00.000Z', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
    );
    const autumn = bucketStarts(window('2026-10-31T12:00:00Z', '2026-11-02T12:00:00Z'), 'day', 'America/New_York');
    expect(autumn.slice(1).map((start, index) => (start - (autumn[index] ?? 0)) / hourMs)).toEqual([24, 25]);
  });

  test('are local hours where the clock is half an hour off', () => {
    expect(isoOf(bucketStarts(window('2026-05-01T10:00:00Z', '2026-05-01T11:00:00Z'), 'hour', 'Asia/Kolkata'))).toEqual(
      ['2026-05-01T09:30:00.000Z', '2026-05-01T10:30:00.000Z'],
    );
  });

  test.each([
    ['Australia/Lord_Howe', '2026-04-04T15:10:00Z', '2026-04-04T15:00:00.000Z', '2026-04-04T15:30:00.000Z'],
    ['Pacific/Chatham', '2026-04-04T14:00:00Z', '2026-04-04T13:15:00.000Z', '2026-04-04T14:15:00.000Z'],
  ])('do not begin an hour before it where clocks were just put back: %s', (zone, from, first, second) => {
    expect(isoOf(bucketStarts(window(from, '2026-04-04T15:31:00Z'), 'hour', zone)).slice(0, 2)).toEqual([
      first,
      second,
    ]);
  });

  test('are weeks that begin on Monday', () => {
    expect(isoOf(bucketStarts(window('2026-11-24T00:00:00Z', '2026-12-01T00:00:00Z'), 'week', 'UTC'))).toEqual([
      '2026-11-23T00:00:00.000Z',
      '2026-11-30T00:00:00.000Z',
    ]);
  });
});

test.each([
  [hourMs, 'minute'],
  [2 * hourMs, 'hour'],
  [4 * dayMs, 'hour'],
  [30 * dayMs, 'day'],
  [366 * dayMs, 'week'],
] as const)('a window of %i ms is divided automatically into buckets of a %s', (lengthMs, granularity) => {
  expect(autoGranularity({ fromMs: 0, toMs: lengthMs })).toBe(granularity);
});

test('only names of the IANA database are time zones', () => {
  expect([...zones, 'Etc/GMT+3'].map(isTimeZone)).toEqual([...zones, ''].map(() => true));
  expect(['', 'Mars/Olympus', 'local', 'system', 'default', 'UTC+3', '+03:00', '../x'].map(isTimeZone)).toEqual(
    Array(8).fill(false),
  );
});

test('every spelling of a time zone has one canonical name, which luxon then knows', () => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }), (zone, upper) => {
      const spelled = Array.from(zone, (each, index) => (upper[index] ? each.toUpperCase() : each.toLowerCase()));
      expect(canonicalTimeZone(spelled.join(''))).toBe(canonicalTimeZone(zone));
      expect(DateTime.local({ zone: canonicalTimeZone(zone) ?? '' }).isValid).toBe(true);
    }),
  );
});
