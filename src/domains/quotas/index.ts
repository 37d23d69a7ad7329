export { admitRequest } from './admit-request.ts';
export { type BoundWebhookDeps, boundWebhook } from './bound-webhook.ts';
export { chargeIngest, type IngestCaller, type IngestCost } from './charge-ingest.ts';
export { consumeQuota } from './consume-quota.ts';
export { feedbackTokenCheck } from './feedback-token-check.ts';
export { Limiter } from './limiter.ts';
export { unlimitedHeaders } from './rate-headers.ts';
export { RefusedCredentials } from './refused-credentials.ts';
export { usageEntry } from './usage.ts';
