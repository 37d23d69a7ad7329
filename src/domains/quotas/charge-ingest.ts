import type { Headers } from '../../http/endpoint.ts';
import type { WorkspaceId } from '../../lib/ids.ts';
import type { SpanMeter } from '../../queue/body-publisher.ts';
import { limitsOf, type WorkspaceScope } from '../workspaces/index.ts';
import { applyOutcome } from './admit-request.ts';
import { quotaChecks, rateChecks } from './checks-of.ts';
import type { Limiter } from './limiter.ts';
import { usageEntry } from './usage.ts';

/** The cost of a body as received. */
export interface IngestCost {
  /** Undefined if the request is counted in another class. */
  requests: number | undefined;
  bytes: number;
  spans: number;
}

export interface IngestCaller {
  workspaceId: WorkspaceId;
  /** The same workspace if its limits apply. Undefined for the operator, who has no limits. */
  limited: WorkspaceScope | undefined;
  /** Sets the rate headers of the answer. */
  setHeaders: (headers: Headers) => void;
}

/**
 * Checks all ingestion limits and the monthly spans together, in one round trip; none if all are
 * unlimited. Resolves to how the spans are metered when their body is published.
 * @throws RateLimitedError or ExhaustedError when a limit is exceeded
 * @throws UnavailableError when Redis is unavailable
 */
export async function chargeIngest(
  { limiter }: { limiter: Limiter },
  { workspaceId, limited, setHeaders }: IngestCaller,
  { cost, receivedAtMs }: { cost: IngestCost; receivedAtMs: number },
): Promise<SpanMeter> {
  const { key, slot, expiresAtS } = usageEntry(workspaceId, 'spans', receivedAtMs);
  if (limited === undefined) return { key, slot, expiresAtS, spans: cost.spans, taken: false };
  const limits = limitsOf(limited);
  const rates = rateChecks(limited, limits, {
    ...(cost.requests !== undefined && { ingest: cost.requests }),
    ingest_bytes: cost.bytes,
    ingest_spans: cost.spans,
  });
  const quotas = quotaChecks(limited, limits, { quota: 'spans', cost: cost.spans, receivedAtMs });
  if (rates.length > 0 || quotas.length > 0) {
    applyOutcome(await limiter.check([...rates, ...quotas]), rates, setHeaders);
  }
  return { key, slot, expiresAtS, spans: cost.spans, taken: quotas.length > 0 };
}
