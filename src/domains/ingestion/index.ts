export { createReceiving } from './create-receiving.ts';
export { insertQuarantinedBody } from './quarantine-store.ts';
export { renormaliseSpans } from './renormalise-spans.ts';
export { costAsReported } from './span-cost.ts';
