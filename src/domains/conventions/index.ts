export { limits } from './limits.ts';
export { isMessageList } from './messages/recognize-message.ts';
export { canonicalProvider } from './model.ts';
export {
  bodyBudget,
  loadRecordReaders,
  normalizeSpan,
  type RecordReaders,
  type RecordsOfSpan,
} from './normalize-span.ts';
