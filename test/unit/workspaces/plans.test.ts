import { describe, expect, test } from 'vitest';
import { limitsOf, plans } from '../../../src/domains/workspaces/index.ts';

describe('the limits of a workspace', () => {
  test('without overrides are those of its plan', () => {
    for (const plan of ['free', 'pro', 'team', 'enterprise'] as const) {
      expect(limitsOf({ plan, overrides: {} })).toEqual(plans[plan]);
    }
  });

  test('take an override for the limit it names alone, null for unlimited and 0 for nothing', () => {
    const overrides = { rate_limits: { read: 5, ingest: null }, quotas: { spans: 0 }, retention_days: 3 };
    const limits = limitsOf({ plan: 'free', overrides });
    expect(limits.rateLimits).toEqual({ ...plans.free.rateLimits, read: 5, ingest: null });
    expect(limits.quotas).toEqual({ ...plans.free.quotas, spans: 0 });
    expect(limits.retentionDays).toBe(3);
    expect(plans.free.rateLimits.read).toBe(300);
  });

  test('limit an unlimited plan where they say so', () => {
    const { rateLimits, retentionDays } = limitsOf({ plan: 'enterprise', overrides: { rate_limits: { write: 7 } } });
    expect(rateLimits).toEqual({ ...plans.enterprise.rateLimits, write: 7 });
    expect(retentionDays).toBe(0);
  });

  test('of every plan admit a request of the largest size', () => {
    for (const { rateLimits } of Object.values(plans)) {
      expect(rateLimits.ingest_spans ?? 10_000).toBeGreaterThanOrEqual(10_000);
      expect(rateLimits.ingest_bytes ?? 2 ** 24).toBeGreaterThanOrEqual(2 ** 24);
    }
  });
});
