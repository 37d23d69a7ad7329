export { admitRequest } from './admit-request.ts';
export { type BoundWebhookDeps, boundWebhook } from './bound-webhook.ts';
export { chargeIngest, type IngestCaller, type IngestCost } from './charge-ingest.ts';
export { consumeQuota } from './consume-quota.ts';
export { Limiter } from './limiter.ts';
export { findMeteredWorkspaces, listWorkspaceIds, type MeteredWorkspace } from './metered-workspace-store.ts';
export { unlimitedHeaders } from './rate-headers.ts';
export { RefusedCredentials } from './refused-credentials.ts';
export { noteSettleAttempt, settledAtMs, settleUsage } from './settle-usage.ts';
export {
  counterExpiryS,
  type Month,
  monthOf,
  slotNumber,
  slotStartMs,
  usageKey,
  workspaceOfUsageKey,
} from './usage.ts';
