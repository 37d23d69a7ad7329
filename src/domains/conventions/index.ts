export { limits } from './limits.ts';
export { isMessageList } from './messages/recognise-message.ts';
export { canonicalProvider } from './model.ts';
export { bodyBudget, NORMALISER_VERSION, normaliseSpan } from './normalise-span.ts';
export type { NormalisedSpan } from './normalised-span.ts';
