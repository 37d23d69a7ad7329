export { limits } from './limits.ts';
export { isMessageList } from './messages/recognise-message.ts';
export { canonicalProvider } from './model.ts';
export { bodyBudget, normaliseSpan } from './normalise-span.ts';
