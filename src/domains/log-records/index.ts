export { loadLogRecords } from './load-log-records.ts';
export type { EncodedLogs, RecordFinder, ShownRecord, SpanRecords, StoredRecord } from './reads.ts';
