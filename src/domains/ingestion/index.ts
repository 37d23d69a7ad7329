export { type OwnCall, type StoreCallDeps, storeCall } from './create-execution/store-call.ts';
export { createReceiving } from './receive/create-receiving.ts';
export { renormalizeSpans, summarizeOutdated } from './store/renormalize-spans.ts';
