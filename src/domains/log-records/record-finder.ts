import { TooLargeError } from '../../lib/errors.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { spansPerQuery } from '../spans/index.ts';
import { countRecords } from './count-records.ts';
import { findRecords, type StoredRecord } from './log-record-queries.ts';

/** The records that a span is made with, and how many are known. */
export interface SpanRecords {
  records: readonly StoredRecord[];
  known: number;
}

export interface RecordFinder {
  /** Returns whether the project is known to have log records. Otherwise nothing needs to be asked. */
  mayHave(projectId: string): boolean;
  /**
   * Returns the records of those of the spans that have any, by trace id and span id. Undefined when
   * they have more than `bytesMax` bytes. Never rejects: without an answer no span has records, and
   * they are joined later.
   */
  find(
    projectId: string,
    spans: readonly { traceId: string; spanId: string }[],
    bytesMax: number,
  ): Promise<ReadonlyMap<string, SpanRecords> | undefined>;
}

/** With more traces, or more than {@link spansPerQuery} spans, they are joined later. */
const tracesMax = 1_000;

/**
 * Returns the records of those of the spans that have any, by trace id and span id. Undefined when
 * they have more than `bytesMax` bytes.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findRecordsOf(
  clickhouse: ClickHouse,
  projectId: string,
  spans: readonly { traceId: string; spanId: string }[],
  bytesMax: number,
): Promise<Map<string, SpanRecords> | undefined> {
  const found = new Map<string, SpanRecords>();
  const traceIds = [...new Set(spans.map(({ traceId }) => traceId))];
  if (traceIds.length > tracesMax || spans.length > spansPerQuery) return found;
  const keys = await countRecords(clickhouse, projectId, { traceIds, spans });
  if (keys.length === 0) return found;
  if (keys.reduce((sum, { bytes }) => sum + bytes, 0) > bytesMax) return undefined;
  // JSON has its own bytes, and names around them.
  const records = await findRecords(clickhouse, projectId, { keys, bytesMax: 4 * bytesMax }).catch((error) => {
    if (error instanceof TooLargeError) return undefined;
    throw error;
  });
  if (records === undefined) return undefined;
  for (const { traceId, spanId, records: known } of keys) {
    const own = records.get(traceId + spanId) ?? [];
    found.set(traceId + spanId, { records: own, known: Math.max(known, own.length) });
  }
  return found;
}
