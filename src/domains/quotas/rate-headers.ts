import type { Headers, RateClass } from '../../http/endpoint.ts';
import type { LimitResult, RateCheck } from './limit-check.ts';

/** The limit that an answer shows when nothing is limited. */
const ceiling = 1_000_000_000;
const windowS = 60;

/**
 * Returns the headers of a limit in two dialects: `RateLimit-Policy` and `RateLimit` of
 * draft-ietf-httpapi-ratelimit-headers-10 (structured fields: q units per w seconds, r left, full
 * again in t seconds), and `X-RateLimit-*` as GitHub sends them, with the reset in seconds since
 * the epoch.
 */
export function rateHeaders(policies: readonly RateCheck[], results: readonly LimitResult[]): Headers {
  const tightest = tightestRate(results);
  if (tightest === undefined) return {};
  const { check, resetMs } = tightest;
  const remaining = Math.max(0, tightest.remaining);
  return {
    'RateLimit-Policy': policies.map(policyItem).join(', '),
    RateLimit: `"${check.name}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`,
    'X-RateLimit-Limit': String(check.limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': epochS(resetMs),
  };
}

/** Returns the headers of an unlimited request: a very high limit. */
export function unlimitedHeaders(rateClass: RateClass): Headers {
  const name = rateClass === 'none' ? 'default' : rateClass;
  return {
    'RateLimit-Policy': `"${name}";q=${ceiling};w=${windowS}`,
    RateLimit: `"${name}";r=${ceiling};t=0`,
    'X-RateLimit-Limit': String(ceiling),
    'X-RateLimit-Remaining': String(ceiling),
    'X-RateLimit-Reset': epochS(0),
  };
}

/** Returns the limits as unused, for use before the real use is known. */
export function untouched(checks: readonly RateCheck[]): LimitResult[] {
  return checks.map((check) => ({ check, remaining: check.limit, resetMs: 0, retryMs: 0 }));
}

/**
 * Returns the refused rate with the longest wait; if none is refused, the rate with the smallest
 * share left.
 */
function tightestRate(results: readonly LimitResult[]): (LimitResult & { check: RateCheck }) | undefined {
  const rates = results.filter((result): result is LimitResult & { check: RateCheck } => result.check.kind === 'rate');
  const share = ({ check, remaining }: LimitResult) => (check.limit === 0 ? 0 : remaining / check.limit);
  return rates.sort((a, b) => b.retryMs - a.retryMs || share(a) - share(b))[0];
}

function policyItem({ name, limit, windowMs }: RateCheck): string {
  // Only units that the draft registers. It has none for spans.
  const unit = name === 'ingest_bytes' ? ';qu="content-bytes"' : '';
  return `"${name}";q=${limit};w=${windowMs / 1_000}${unit}`;
}

function epochS(inMs: number): string {
  return String(Math.ceil((Date.now() + inMs) / 1_000));
}
