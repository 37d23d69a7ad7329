import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { countFewRecords } from './count-few-records.ts';
import { partsPerQuery, type RecordCount } from './count-records.ts';
import { findRecords, orTooLarge, type StoredRecord } from './log-record-queries.ts';

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
   * they have more than `bytesMax` bytes, or are very many. Never rejects: without an answer no span has records, and
   * they are joined later.
   */
  find(
    projectId: string,
    spans: readonly { traceId: string; spanId: string }[],
    bytesMax: number,
  ): Promise<ReadonlyMap<string, SpanRecords> | undefined>;
}

/** After this time no further statement begins, and the records that are left are joined later. */
const msMax = 3_000;
/** A count that takes longer than this has no answer. */
const countSettings = { max_execution_time: 5 };

/**
 * Returns the records of those of the spans that have any, by trace id and span id. Undefined when
 * they have more than `bytesMax` bytes, or are very many.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findRecordsOf(
  clickhouse: ClickHouse,
  projectId: string,
  spans: readonly { traceId: string; spanId: string }[],
  bytesMax: number,
): Promise<Map<string, SpanRecords> | undefined> {
  const found = new Map<string, SpanRecords>();
  const endMs = performance.now() + msMax;
  const counts: RecordCount[] = [];
  for (const some of partsPerQuery(spans)) {
    if (performance.now() > endMs) break;
    const traceIds = [...new Set(some.map(({ traceId }) => traceId))];
    const wanted = { traceIds, spans: some };
    const counted = await countFewRecords(clickhouse, projectId, wanted, countSettings).catch(orTooLarge);
    if (counted === undefined) return undefined;
    for (const count of counted) counts.push(count);
  }
  if (counts.reduce((sum, { bytes }) => sum + bytes, 0) > bytesMax) return undefined;
  for (const keys of partsPerQuery(counts)) {
    if (performance.now() > endMs) break;
    // JSON has its own bytes, and names around them.
    const records = await findRecords(clickhouse, projectId, { keys, bytesMax: 4 * bytesMax }).catch(orTooLarge);
    if (records === undefined) return undefined;
    for (const { traceId, spanId, records: known } of keys) {
      const own = records.get(traceId + spanId) ?? [];
      found.set(traceId + spanId, { records: own, known: Math.max(known, own.length) });
    }
  }
  return found;
}
