import type { Headers } from '../../http/endpoint.ts';
import { ExhaustedError } from '../../lib/errors.ts';
import type { WorkspaceId } from '../../lib/ids.ts';
import type { BodyMeter } from '../../queue/body-publisher.ts';
import { limitsOf, type QuotaName, type WorkspaceScope } from '../workspaces/index.ts';
import { applyOutcome } from './admit-request.ts';
import { quotaChecks, rateChecks } from './checks-of.ts';
import type { LimitOutcome } from './limit-check.ts';
import type { Limiter } from './limiter.ts';
import { refusalError } from './refusals.ts';
import { usageEntry } from './usage.ts';

/** The cost of a body. */
export interface IngestCost {
  /** Undefined if the request is counted in another class. */
  requests: number | undefined;
  /** As received. */
  bytes: number;
  /** What is to be stored. */
  stored: StoredCost;
  /** Whether a body without spans is refused too when the monthly spans are used up. */
  needsQuota?: boolean;
}

/** What of a body counts for the month. */
export interface StoredCost {
  spans: number;
  /** After decompression, with the copies of resources and scopes that its spans or log records are stored with. */
  bytes: number;
}

export const nothingStored: StoredCost = { spans: 0, bytes: 0 };

/** What is charged. */
export interface IngestCharge {
  cost: IngestCost;
  receivedAtMs: number;
  /** Returns whether the same body was received before. Asked only when the quota is used up. */
  wasReceived?: (() => Promise<boolean>) | undefined;
}

export interface IngestCaller {
  workspaceId: WorkspaceId;
  /** The same workspace if its limits apply. Undefined for the operator, who has no limits. */
  limited: WorkspaceScope | undefined;
  /** Sets the rate headers of the answer. */
  setHeaders: (headers: Headers) => void;
}

/**
 * Checks all ingestion limits and the monthly quotas together, in one round trip; none if all are
 * unlimited. Resolves to how the body is metered when it is published: not at all if it was received before, because
 * it is in the quotas.
 * @throws RateLimitedError or ExhaustedError when a limit is exceeded
 * @throws UnavailableError when Redis is unavailable
 */
export async function chargeIngest(
  { limiter }: { limiter: Limiter },
  { workspaceId, limited, setHeaders }: IngestCaller,
  { cost, receivedAtMs, wasReceived }: IngestCharge,
): Promise<BodyMeter[]> {
  if (limited === undefined) return bodyMeters(workspaceId, cost.stored, receivedAtMs);
  const limits = limitsOf(limited);
  const rates = rateChecks(limited, limits, {
    ...(cost.requests !== undefined && { ingest: cost.requests }),
    ingest_bytes: cost.bytes,
    ingest_spans: cost.stored.spans,
  });
  const quotas = [
    ...quotaChecks(limited, limits, { quota: 'spans', cost: cost.stored.spans, receivedAtMs }),
    ...quotaChecks(limited, limits, { quota: 'ingested_bytes', cost: cost.stored.bytes, receivedAtMs }),
  ];
  if (rates.length > 0 || quotas.length > 0) {
    const outcome = await limiter.check([...rates, ...quotas]);
    try {
      applyOutcome(outcome, rates, setHeaders);
      if (cost.needsQuota === true) requireQuota(outcome);
    } catch (error) {
      const isResend = error instanceof ExhaustedError && (await wasReceived?.());
      if (!isResend && !outcome.granted) await chargeRequest(limiter, limited, cost.requests);
      if (!isResend) throw error;
      // The next resend is not refused before its body is known. The refused check took nothing from the rates.
      limiter.forget(quotas);
      if (rates.length === 0 || outcome.granted) return [];
      const again = await limiter.check(rates);
      if (!again.granted) await chargeRequest(limiter, limited, cost.requests);
      applyOutcome(again, rates, setHeaders);
      return [];
    }
  }
  const taken = new Set(quotas.map(({ key }) => key));
  return bodyMeters(workspaceId, cost.stored, receivedAtMs, taken);
}

/** Returns how a body is metered when it is published. `taken` names the counters that have counted it already. */
export function bodyMeters(
  workspaceId: WorkspaceId,
  { spans, bytes }: StoredCost,
  receivedAtMs: number,
  taken: ReadonlySet<string> = new Set(),
): BodyMeter[] {
  const meterOf = (quota: QuotaName, units: number) => {
    const entry = usageEntry(workspaceId, quota, receivedAtMs);
    return { ...entry, units, taken: taken.has(entry.key) };
  };
  return [meterOf('spans', spans), meterOf('ingested_bytes', bytes)];
}

/**
 * Counts a request that is refused, because nothing was taken for it: its body was received and examined, and the rate
 * of requests must bound how often.
 */
async function chargeRequest(limiter: Limiter, workspace: WorkspaceScope, requests: number | undefined): Promise<void> {
  if (requests === undefined) return;
  const rates = rateChecks(workspace, limitsOf(workspace), { ingest: requests });
  await limiter.check(rates).catch(() => undefined);
}

/** @throws ExhaustedError when not a single unit of a quota is left that the body costs nothing of */
function requireQuota({ results }: LimitOutcome): void {
  for (const result of results) {
    const { check, remaining } = result;
    if (check.kind === 'quota' && check.cost === 0 && remaining < 1)
      throw refusalError({ ...result, check: { ...check, cost: 1 } });
  }
}

/**
 * Counts a request whose body is not kept: its rates, but no quota. If Redis is unavailable, the
 * limits of this process apply.
 * @throws RateLimitedError when a limit is exceeded
 */
export async function chargeUnkept(
  { limiter }: { limiter: Limiter },
  { limited, setHeaders }: Omit<IngestCaller, 'workspaceId'>,
  bytes: number,
): Promise<void> {
  if (limited === undefined) return;
  const rates = rateChecks(limited, limitsOf(limited), { ingest: 1, ingest_bytes: bytes });
  if (rates.length === 0) return;
  const outcome = await limiter.checkOpen(rates);
  if (!outcome.granted) await limiter.checkOpen(rateChecks(limited, limitsOf(limited), { ingest: 1 }));
  applyOutcome(outcome, rates, setHeaders);
}
