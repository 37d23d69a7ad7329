export { createReceiving } from './receive/create-receiving.ts';
export { renormalizeSpans } from './store/renormalize-spans.ts';
