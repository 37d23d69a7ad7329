import { createHash } from 'node:crypto';
import { mapInSlices } from '../../lib/pace.ts';
import type { LogRecord } from '../../otlp/log-record.ts';
import type { LogOutcome } from '../../queue/log-counts.ts';
import type { EncodedRows } from '../../stores/clickhouse/native-table.ts';
import { isEvaluationResult, isGenAiRecord } from '../conventions/reads.ts';
import { recordLimits } from './limits.ts';
import { type LogRow, logRowOf, logTable } from './log-row.ts';
import { RecordIds } from './record-identity.ts';

/** The records of one request as rows, and what becomes of all of them. */
export interface EncodedLogs {
  rows: EncodedRows;
  rowCount: number;
  /** The spans that have records, each once. */
  spans: readonly { traceId: string; records: number }[];
  outcomes: Partial<Record<LogOutcome, number>>;
}

export interface LogsToEncode {
  projectId: string;
  receivedAtMs: number;
  retentionDays: number;
  /** The body as received. */
  body: Uint8Array;
  records: readonly LogRecord[];
  /** Whether records without a meaning for the content of a span are kept. */
  keepOther: boolean;
}

/** DEBUG4: lines of this severity and below are not kept; 0 is no severity. */
const droppedSeverityMax = 8;

/** Encodes the records that are kept. Other work runs between them. */
export async function encodeLogs(sent: LogsToEncode): Promise<EncodedLogs> {
  const request = {
    projectId: sent.projectId,
    receivedAtMs: sent.receivedAtMs,
    retentionDays: sent.retentionDays,
    request: createHash('sha256').update(sent.body).digest().readBigUInt64LE(),
  };
  const ids = new RecordIds();
  const outcomes: EncodedLogs['outcomes'] = {};
  const count = (outcome: LogOutcome) => {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  const rows: LogRow[] = [];
  const bySpan = new Map<string, { traceId: string; records: number }>();
  let position = 0;
  await mapInSlices(sent.records, (record) => {
    const place = position++;
    const isGenAi = isGenAiRecord(record.eventName);
    const isOfTrace = record.spanId === '' && isEvaluationResult(record.eventName);
    const why = whyDropped(record, { isGenAi, isOfTrace, keepOther: sent.keepOther });
    if (why === 'empty') return;
    if (why !== undefined) return count(why);
    const row = logRowOf(request, record, { ids, position: place, isGenAi });
    count(isGenAi ? 'content' : row.bytes > recordLimits.otherBytesMax ? 'dropped_limit' : 'event');
    rows.push(row);
    const key = record.traceId + record.spanId;
    const span = bySpan.get(key) ?? { traceId: record.traceId, records: 0 };
    span.records++;
    bySpan.set(key, span);
  });
  return { rows: logTable.encode(rows), rowCount: rows.length, spans: [...bySpan.values()], outcomes };
}

function whyDropped(
  { traceId, spanId, eventName, severityNumber, body, attributes }: LogRecord,
  { isGenAi, isOfTrace, keepOther }: { isGenAi: boolean; isOfTrace: boolean; keepOther: boolean },
): LogOutcome | 'empty' | undefined {
  if (body === null && attributes.size === 0 && eventName === '') return 'empty';
  if (traceId === '' || (spanId === '' && !isOfTrace)) return 'dropped_no_span';
  if (isGenAi) return undefined;
  const isQuiet = severityNumber >= 1 && severityNumber <= droppedSeverityMax;
  return isQuiet || !keepOther ? 'dropped_level' : undefined;
}
