import type { Headers } from '../../http/endpoint.ts';
import type { WorkspaceId } from '../../lib/ids.ts';
import type { SpanMeter } from '../../queue/body-publisher.ts';
import { limitsOf, type WorkspaceScope } from '../workspaces/index.ts';
import { settleOutcome } from './admit-request.ts';
import { quotaDraws, rateDraws } from './draws-of.ts';
import type { Limiter } from './limiter.ts';
import { usageEntry } from './usage.ts';

/** What a body costs, as received. */
export interface IngestCost {
  /** Undefined where the request is counted in another class. */
  requests: number | undefined;
  bytes: number;
  spans: number;
}

export interface IngestCaller {
  workspaceId: WorkspaceId;
  /** The same workspace, where its limits apply: the operator has none. */
  limited: WorkspaceScope | undefined;
  /** Puts the limits on the answer. */
  setHeaders: (headers: Headers) => void;
}

/**
 * Draws on all limits of ingestion and the month's spans at once; one round trip, none where all is unlimited. Resolves to how the
 * spans are metered when their body is published. Throws RateLimitedError, ExhaustedError, and UnavailableError while Redis is away.
 */
export async function chargeIngest(
  { limiter }: { limiter: Limiter },
  { workspaceId, limited, setHeaders }: IngestCaller,
  { cost, receivedAtMs }: { cost: IngestCost; receivedAtMs: number },
): Promise<SpanMeter> {
  const { key, slot, expiresAtS } = usageEntry(workspaceId, 'spans', receivedAtMs);
  if (limited === undefined) return { key, slot, expiresAtS, spans: cost.spans, taken: false };
  const limits = limitsOf(limited);
  const rates = rateDraws(limited, limits, {
    ...(cost.requests !== undefined && { ingest: cost.requests }),
    ingest_bytes: cost.bytes,
    ingest_spans: cost.spans,
  });
  const quotas = quotaDraws(limited, limits, { quota: 'spans', cost: cost.spans, receivedAtMs });
  if (rates.length > 0 || quotas.length > 0) {
    settleOutcome(await limiter.draw([...rates, ...quotas]), rates, setHeaders);
  }
  return { key, slot, expiresAtS, spans: cost.spans, taken: quotas.length > 0 };
}
