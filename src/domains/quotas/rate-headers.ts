import type { Headers, RateClass } from '../../http/endpoint.ts';
import type { DrawResult, RateDraw } from './draw.ts';

/** What an answer says where nothing is limited. */
const ceiling = 1_000_000_000;
const windowS = 60;

/**
 * A limit in both dialects: `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10 (structured fields: q units
 * per w seconds, r left, whole again in t seconds), and `X-RateLimit-*` as GitHub sends them, reset in seconds since the epoch.
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

/** The headers where a request is not limited: a large ceiling. */
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

/** The limits as they are before anything is known of their use. */
export function untouched(draws: readonly RateDraw[]): DrawResult[] {
  return draws.map((draw) => ({ draw, remaining: draw.limit, resetMs: 0, retryMs: 0 }));
}

/** Of the refused ones the one that takes longest, else the one with the least of its limit left. */
function tightestRate(results: readonly DrawResult[]): (DrawResult & { draw: RateDraw }) | undefined {
  const rates = results.filter((result): result is DrawResult & { draw: RateDraw } => result.draw.kind === 'rate');
  const share = ({ draw, remaining }: DrawResult) => (draw.limit === 0 ? 0 : remaining / draw.limit);
  return rates.sort((a, b) => b.retryMs - a.retryMs || share(a) - share(b))[0];
}

function policyItem({ name, limit, windowMs }: RateDraw): string {
  // Units that the draft registers; spans have none.
  const unit = name === 'ingest_bytes' ? ';qu="content-bytes"' : '';
  return `"${name}";q=${limit};w=${windowMs / 1_000}${unit}`;
}

function epochS(inMs: number): string {
  return String(Math.ceil((Date.now() + inMs) / 1_000));
}
