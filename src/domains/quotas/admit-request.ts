import type { Headers, RateClass } from '../../http/endpoint.ts';
import { type Principal, workspaceOf } from '../auth/index.ts';
import { limitsOf, type WorkspaceScope } from '../workspaces/index.ts';
import { type DrawOutcome, type RateDraw, refusedDraw } from './draw.ts';
import { quotaDraws, rateDraws } from './draws-of.ts';
import type { Limiter } from './limiter.ts';
import { rateHeaders, unlimitedHeaders, untouched } from './rate-headers.ts';
import { refusalError } from './refusals.ts';

export interface AdmittedRequest {
  rateClass: RateClass;
  /** Undefined on an open route. */
  principal: Principal | undefined;
  setHeaders: (headers: Headers) => void;
}

/**
 * Counts a request against its class, before its body is read; says on every answer what is left. Ingestion is counted once its
 * size is known (see `charge-ingest.ts`), so it is only refused here when that is known to be in vain. Fails open to the limits of
 * this process. Throws RateLimitedError, or ExhaustedError for ingestion.
 */
export async function admitRequest(
  { limiter }: { limiter: Limiter },
  { rateClass, principal, setHeaders }: AdmittedRequest,
): Promise<void> {
  const workspace = limitedWorkspace(principal);
  if (workspace === undefined || rateClass === 'none') return setHeaders(unlimitedHeaders(rateClass));
  if (rateClass === 'ingest') return admitIngest(limiter, workspace, setHeaders);
  const draws = rateDraws(workspace, limitsOf(workspace), { [rateClass]: 1 });
  if (draws.length === 0) return setHeaders(unlimitedHeaders(rateClass));
  settleOutcome(await limiter.drawOpen(draws), draws, setHeaders);
}

/** The workspace whose limits apply: the operator has none. */
export function limitedWorkspace(principal: Principal | undefined): WorkspaceScope | undefined {
  return principal === undefined || principal.type === 'admin' ? undefined : workspaceOf(principal);
}

/** Puts the outcome on the answer. Throws the error of a draw that was refused. */
export function settleOutcome(
  outcome: DrawOutcome,
  policies: readonly RateDraw[],
  setHeaders: (headers: Headers) => void,
): void {
  const headers = rateHeaders(policies, outcome.results);
  setHeaders(headers);
  const refused = refusedDraw(outcome);
  if (refused !== undefined) throw refusalError(refused);
}

function admitIngest(limiter: Limiter, workspace: WorkspaceScope, setHeaders: (headers: Headers) => void): void {
  const limits = limitsOf(workspace);
  const rates = rateDraws(workspace, limits, { ingest: 1, ingest_bytes: 1, ingest_spans: 1 });
  setHeaders(rates.length === 0 ? unlimitedHeaders('ingest') : rateHeaders(rates, untouched(rates)));
  const quotas = quotaDraws(workspace, limits, { quota: 'spans', cost: 1, receivedAtMs: Date.now() });
  const refusal = limiter.refusal([...rates, ...quotas]);
  if (refusal !== undefined) settleOutcome(refusal, rates, setHeaders);
}
