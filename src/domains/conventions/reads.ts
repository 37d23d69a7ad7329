// What `loadRecordReaders` loads.
export { readJoinedText } from './records/join-text.ts';
export { readRecords } from './records/read-records.ts';
export { isEvaluationResult, isGenAiRecord } from './records/record-meaning.ts';
