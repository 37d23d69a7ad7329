import { type AppError, ExhaustedError, RateLimitedError } from '../../lib/errors.ts';
import type { DrawResult, QuotaDraw, RateDraw } from './draw.ts';
import { monthOf } from './usage.ts';

const units: Readonly<Record<string, string>> = {
  ingest_bytes: 'bytes',
  ingest_spans: 'spans',
  spans: 'spans',
  optimization_runs: 'optimization runs',
  webhook: 'events',
};

/**
 * Returns the error for a refused draw. Waiting a moment helps with a rate, but not with a quota.
 */
export function refusalError({ draw, remaining, retryMs }: DrawResult): AppError {
  return draw.kind === 'rate' ? rateRefusal(draw, retryMs) : quotaRefusal(draw, draw.limit - remaining);
}

function rateRefusal({ name, cost, limit, windowMs }: RateDraw, retryMs: number): RateLimitedError {
  const unit = units[name] ?? 'requests';
  const retryAfterS = Math.max(1, Math.ceil(retryMs / 1_000));
  const advice =
    cost > limit ? `This request alone has ${cost}: send it in smaller parts.` : `Try again in ${retryAfterS} s.`;
  return new RateLimitedError(
    'rate_limited',
    `${name === 'webhook' ? 'A provider' : 'The workspace'} may send ${limit} ${unit} (${name}) per ${windowMs / 1_000} s. ${advice}`,
    { retryAfterS, extra: { limit: name } },
  );
}

function quotaRefusal({ name, cost, limit, slot }: QuotaDraw, used: number): ExhaustedError {
  const resetsAt = new Date(monthOf(Number(slot) * 60_000).endMs).toISOString();
  return new ExhaustedError(
    'quota_exceeded',
    `The workspace has used ${used} of its ${limit} ${units[name]} of this month, and this request needs ${cost}. ` +
      `The quota begins anew at ${resetsAt}.`,
    { extra: { resource: name, limit, used, resets_at: resetsAt } },
  );
}
