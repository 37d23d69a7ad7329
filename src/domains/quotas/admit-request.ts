import type { Headers, RateClass } from '../../http/endpoint.ts';
import { limitsOf, type WorkspaceScope } from '../workspaces/index.ts';
import { quotaChecks, rateChecks } from './checks-of.ts';
import { type LimitOutcome, type RateCheck, refusedCheck } from './limit-check.ts';
import type { Limiter } from './limiter.ts';
import { rateHeaders, unlimitedHeaders, untouched } from './rate-headers.ts';
import { refusalError } from './refusals.ts';

export interface AdmittedRequest {
  rateClass: RateClass;
  /** False if the monthly quotas do not apply. */
  metered?: false | undefined;
  /**
   * The workspace whose limits apply. Undefined if none apply: on open routes and for the operator.
   */
  limited: WorkspaceScope | undefined;
  /** Narrower limits within the workspace, such as those of feedback tokens. */
  within?: readonly RateCheck[] | undefined;
  setHeaders: (headers: Headers) => void;
}

/**
 * Counts a request for its rate class before its body is read, and sets the rate headers. Ingestion
 * is counted when its size is known (see `charge-ingest.ts`); here it is only refused if a limit is
 * known to be used up. If Redis is unavailable, the limits of this process apply.
 * @throws RateLimitedError, or ExhaustedError for ingestion
 */
export async function admitRequest(
  { limiter }: { limiter: Limiter },
  { rateClass, metered, limited, within = [], setHeaders }: AdmittedRequest,
): Promise<void> {
  if (limited === undefined || rateClass === 'none') return setHeaders(unlimitedHeaders(rateClass));
  if (rateClass === 'ingest') return admitIngest(limiter, limited, { metered: metered !== false, setHeaders });
  const checks = [...rateChecks(limited, limitsOf(limited), { [rateClass]: 1 }), ...within];
  if (checks.length === 0) return setHeaders(unlimitedHeaders(rateClass));
  applyOutcome(await limiter.checkOpen(checks), checks, setHeaders);
}

/**
 * Sets the rate headers of an outcome.
 * @throws RateLimitedError or ExhaustedError for a refused check
 */
export function applyOutcome(
  outcome: LimitOutcome,
  policies: readonly RateCheck[],
  setHeaders: (headers: Headers) => void,
): void {
  const headers = rateHeaders(policies, outcome.results);
  setHeaders(headers);
  const refused = refusedCheck(outcome);
  if (refused !== undefined) throw refusalError(refused);
}

function admitIngest(
  limiter: Limiter,
  workspace: WorkspaceScope,
  { metered, setHeaders }: { metered: boolean; setHeaders: (headers: Headers) => void },
): void {
  const limits = limitsOf(workspace);
  const rates = rateChecks(workspace, limits, { ingest: 1, ingest_bytes: 1, ingest_spans: 1 });
  setHeaders(rates.length === 0 ? unlimitedHeaders('ingest') : rateHeaders(rates, untouched(rates)));
  const quotas = quotaChecks(workspace, limits, { quota: 'spans', cost: 1, receivedAtMs: Date.now() });
  const refusal = limiter.refusal([...rates, ...(metered ? quotas : [])]);
  if (refusal !== undefined) applyOutcome(refusal, rates, setHeaders);
}
