export { createReceiving } from './create-receiving.ts';
export { lightSpanOf } from './light-span-of.ts';
export { insertQuarantinedBody } from './quarantine-store.ts';
export { renormaliseSpans } from './renormalise-spans.ts';
export { costAsReported } from './span-cost.ts';
export { type SpanCost, type SpanRow, spanTable } from './span-row.ts';
export { countStoredSpans } from './stored-span-queries.ts';
export { typeAttributes } from './typed-attributes.ts';
