// What `loadLogRecords` loads.
export { countRecords, type RecordCount } from './count-records.ts';
export { type EncodedLogs, encodeLogs } from './encode-logs.ts';
export { insertLogs } from './insert-logs.ts';
export { type JoinTime, joinAtOnce } from './join-at-once.ts';
export { joinHere, joinInThread, joinRecords } from './join-records.ts';
export { findShownRecords, type ShownRecord, type StoredRecord } from './log-record-queries.ts';
export { findRecordsOf, type RecordFinder, type SpanRecords } from './record-finder.ts';
