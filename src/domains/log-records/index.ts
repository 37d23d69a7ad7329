export { loadLogRecords } from './load-log-records.ts';
export type { EncodedLogs, JoinTime, RecordFinder, ShownRecord, SpanRecords, StoredRecord } from './reads.ts';
