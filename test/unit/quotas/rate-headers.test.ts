import { describe, expect, test } from 'vitest';
import { rateChecks } from '../../../src/domains/quotas/checks-of.ts';
import { rateHeaders, unlimitedHeaders } from '../../../src/domains/quotas/rate-headers.ts';
import { monthOf, usageEntry } from '../../../src/domains/quotas/usage.ts';
import { limitsOf } from '../../../src/domains/workspaces/index.ts';

const workspace = { id: 'wsp_a' as const, plan: 'free' as const, overrides: {} };
const ingest = rateChecks(workspace, limitsOf(workspace), { ingest: 1, ingest_bytes: 500, ingest_spans: 20 });

describe('rate headers', () => {
  test('name every policy, and of the limits the tightest', () => {
    const results = ingest.map((check, index) => ({
      check,
      remaining: [900, 60_000_000, 10][index] ?? 0,
      resetMs: 1_500,
      retryMs: 0,
    }));
    const headers = rateHeaders(ingest, results);
    expect(headers).toMatchObject({
      'RateLimit-Policy':
        '"ingest";q=1000;w=60, "ingest_bytes";q=67108864;w=60;qu="content-bytes", "ingest_spans";q=20000;w=60',
      RateLimit: '"ingest_spans";r=10;t=2',
      'X-RateLimit-Limit': '20000',
      'X-RateLimit-Remaining': '10',
    });
    expect(Number(headers['X-RateLimit-Reset'])).toBeCloseTo(Date.now() / 1_000 + 2, -1);
  });

  test('prefer the limit that refuses to one with less left', () => {
    const results = ingest.map((check, index) => ({
      check,
      remaining: index,
      resetMs: 10,
      retryMs: index === 2 ? 5 : 0,
    }));
    expect(rateHeaders(ingest, results)).toMatchObject({ RateLimit: '"ingest_spans";r=2;t=1' });
  });

  test('say a large ceiling where nothing is limited', () => {
    expect(unlimitedHeaders('render')).toMatchObject({
      'RateLimit-Policy': '"render";q=1000000000;w=60',
      'X-RateLimit-Remaining': '1000000000',
    });
  });
});

describe('a month of usage', () => {
  test('begins and ends at midnight UTC, in December with the next year', () => {
    const month = monthOf(Date.UTC(2026, 11, 31, 23, 59, 59, 999));
    expect(month).toEqual({ name: '2026-12', startMs: Date.UTC(2026, 11, 1), endMs: Date.UTC(2027, 0, 1) });
    expect(monthOf(month.endMs).name).toBe('2027-01');
  });

  test('takes what was received in it, by the minute', () => {
    const entry = usageEntry('wsp_a', 'spans', Date.UTC(2026, 10, 30, 23, 59, 30));
    expect(entry.key).toBe('wsp_a:{ingest}:usage:spans:2026-11');
    expect(Number(entry.slot) * 60_000).toBe(Date.UTC(2026, 10, 30, 23, 59));
  });
});
