import { feedbackRateKey } from '../../stores/redis/names.ts';
import { rateWindowMs } from './checks-of.ts';
import type { RateCheck } from './limit-check.ts';

/** Far above what one person gives, and a quarter of the writes of the smallest plan. */
const limit = 30;

/**
 * Returns the limit of feedback on one trace by tokens. A token is public to a visitor of a page,
 * who must not be able to use up the writes of the workspace.
 */
export function feedbackTokenCheck(workspaceId: string, traceId: string): RateCheck {
  const key = feedbackRateKey(workspaceId, traceId);
  return { kind: 'rate', name: 'feedback_token', key, cost: 1, limit, windowMs: rateWindowMs };
}
