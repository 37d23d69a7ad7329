export { admitRequest } from './admit-request.ts';
export { type BoundWebhookDeps, boundWebhook } from './bound-webhook.ts';
export {
  bodyMeters,
  chargeIngest,
  chargeUnkept,
  type IngestCaller,
  type IngestCost,
  nothingStored,
} from './charge-ingest.ts';
export { chargeWritten, noteWritten } from './charge-written.ts';
export { consumeQuota, requireQuota } from './consume-quota.ts';
export { exportQuotaMetrics } from './export-quota-metrics.ts';
export { feedbackTokenChecks } from './feedback-token-check.ts';
export { Limiter } from './limiter.ts';
export { unlimitedHeaders } from './rate-headers.ts';
export { RefusedCredentials } from './refused-credentials.ts';
