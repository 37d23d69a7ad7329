import { type AppError, ExhaustedError, RateLimitedError } from '../../lib/errors.ts';
import type { LimitResult, QuotaCheck, RateCheck } from './limit-check.ts';
import { monthEndMs } from './usage.ts';

const units: Readonly<Record<string, string>> = {
  ingest_bytes: 'bytes',
  ingest_spans: 'spans',
  spans: 'spans',
  optimization_runs: 'optimization runs',
  ingested_bytes: 'ingested bytes',
  written_bytes: 'written bytes',
  webhook: 'events',
};

/**
 * Returns the error for a refused check. Waiting a moment helps with a rate, but not with a quota.
 */
export function refusalError({ check, remaining, retryMs }: LimitResult): AppError {
  return check.kind === 'rate' ? rateRefusal(check, retryMs) : quotaRefusal(check, check.limit - remaining);
}

function rateRefusal({ name, cost, limit, windowMs }: RateCheck, retryMs: number): RateLimitedError {
  const unit = units[name] ?? 'requests';
  const retryAfterS = Math.max(1, Math.ceil(retryMs / 1_000));
  const advice =
    cost > limit ? `This request has ${cost}. Send it in smaller parts.` : `Try again in ${retryAfterS} s.`;
  return new RateLimitedError(
    'rate_limited',
    `${name === 'webhook' ? 'A provider' : 'The workspace'} may send ${limit} ${unit} (${name}) per ${windowMs / 1_000} s. ${advice}`,
    { retryAfterS, extra: { limit: name } },
  );
}

function quotaRefusal({ name, cost, limit, expiresAtS }: QuotaCheck, used: number): ExhaustedError {
  const resetsAt = new Date(monthEndMs({ expiresAtS })).toISOString();
  return new ExhaustedError(
    'quota_exceeded',
    `The workspace has used ${used} of its ${limit} ${units[name]} for this month. ` +
      `${used < limit ? `This request needs ${cost}. ` : ''}The quota resets at ${resetsAt}.`,
    { extra: { resource: name, limit, used, resets_at: resetsAt } },
  );
}
