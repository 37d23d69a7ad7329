export { createReceiving } from './receive/create-receiving.ts';
export { renormaliseSpans } from './store/renormalise-spans.ts';
