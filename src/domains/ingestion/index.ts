export { type OwnCall, type StoreCallDeps, storeCall } from './create-execution/store-call.ts';
export { createQueueGate } from './receive/create-queue-gate.ts';
export { createReceiving } from './receive/create-receiving.ts';
export type { QueueGate } from './receive/queue-gate.ts';
export { renormalizeSpans, summarizeOutdated } from './store/renormalize-spans.ts';
