import { feedbackRateKey, rateKey } from '../../stores/redis/names.ts';
import { limitsOf, type WorkspaceScope } from '../workspaces/index.ts';
import { rateWindowMs } from './checks-of.ts';
import type { RateCheck } from './limit-check.ts';

/** Far above what one person gives, and a quarter of the writes of the smallest plan. */
const perTraceMax = 30;
/** Of the writes of a workspace, the part that all tokens together may use. */
const partOfWrites = 1 / 2;

/**
 * Returns the limits of feedback by tokens: for one trace, and for the workspace. A token is public
 * to a visitor of a page, and one visitor may have tokens of many traces. Visitors must not be able
 * to use up the writes of the workspace.
 */
export function feedbackTokenChecks(workspace: WorkspaceScope, traceId: string): RateCheck[] {
  const check = { kind: 'rate', cost: 1, windowMs: rateWindowMs } as const;
  const ofTrace = { ...check, name: 'feedback_token', key: feedbackRateKey(workspace.id, traceId), limit: perTraceMax };
  const { write } = limitsOf(workspace).rateLimits;
  if (write === null) return [ofTrace];
  const limit = Math.max(1, Math.floor(write * partOfWrites));
  return [ofTrace, { ...check, name: 'feedback_tokens', key: rateKey(workspace.id, 'feedback'), limit }];
}
