export { limits } from './limits.ts';
export { isMessageList } from './messages/recognize-message.ts';
export { canonicalProvider } from './model.ts';
export { bodyBudget, normalizeSpan } from './normalize-span.ts';
