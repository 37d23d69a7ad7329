export { createReceiving } from './receive/create-receiving.ts';
export { renormalizeSpans, summarizeOutdated } from './store/renormalize-spans.ts';
