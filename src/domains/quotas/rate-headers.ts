import type { Headers, RateClass } from '../../http/endpoint.ts';
import type { DrawResult, RateDraw } from './draw.ts';

/** The limit that an answer shows when nothing is limited. */
const ceiling = 1_000_000_000;
const windowS = 60;

/**
 * Returns the headers of a limit in two dialects: `RateLimit-Policy` and `RateLimit` of
 * draft-ietf-httpapi-ratelimit-headers-10 (structured fields: q units per w seconds, r left, full
 * again in t seconds), and `X-RateLimit-*` as GitHub sends them, with the reset in seconds since
 * the epoch.
 */
export function rateHeaders(policies: readonly RateDraw[], results: readonly DrawResult[]): Headers {
  const tightest = tightestRate(results);
  if (tightest === undefined) return {};
  const { draw, resetMs } = tightest;
  const remaining = Math.max(0, tightest.remaining);
  return {
    'RateLimit-Policy': policies.map(policyItem).join(', '),
    RateLimit: `"${draw.name}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`,
    'X-RateLimit-Limit': String(draw.limit),
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
export function untouched(draws: readonly RateDraw[]): DrawResult[] {
  return draws.map((draw) => ({ draw, remaining: draw.limit, resetMs: 0, retryMs: 0 }));
}

/**
 * Returns the refused rate with the longest wait; if none is refused, the rate with the smallest
 * share left.
 */
function tightestRate(results: readonly DrawResult[]): (DrawResult & { draw: RateDraw }) | undefined {
  const rates = results.filter((result): result is DrawResult & { draw: RateDraw } => result.draw.kind === 'rate');
  const share = ({ draw, remaining }: DrawResult) => (draw.limit === 0 ? 0 : remaining / draw.limit);
  return rates.sort((a, b) => b.retryMs - a.retryMs || share(a) - share(b))[0];
}

function policyItem({ name, limit, windowMs }: RateDraw): string {
  // Only units that the draft registers. It has none for spans.
  const unit = name === 'ingest_bytes' ? ';qu="content-bytes"' : '';
  return `"${name}";q=${limit};w=${windowMs / 1_000}${unit}`;
}

function epochS(inMs: number): string {
  return String(Math.ceil((Date.now() + inMs) / 1_000));
}
