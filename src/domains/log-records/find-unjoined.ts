import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { findJoinedSpans, type JoinedSpan } from '../spans/reads.ts';
import { countRecords, findRecords, noSpan, type RecordCount, type StoredRecord } from './log-record-queries.ts';

/** A stored span whose row was made with other records than it should have. */
export interface UnjoinedSpan {
  traceId: string;
  spanId: string;
  /** Records that are known for the span. */
  known: number;
  /** Records that its row was made with. */
  used: number;
  /** The version of its row. */
  version: number;
  /** Bytes of its records. */
  bytes: number;
  /** Records of the whole trace that this span shows. */
  ofTrace: readonly StoredRecord[];
}

/** Ids travel in the URL, and ClickHouse accepts at most 1 MiB of it. */
const tracesPerQuery = 1_000;
const spansPerQuery = 5_000;
/** Evaluations of one trace are few. With more bytes, the rest is not shown. */
const traceBytesMax = 4 * 1024 * 1024;

/**
 * Returns the spans of the traces whose rows lack records, or with `joinedToo` all that have any.
 * Records whose span is not stored yet wait; the worker that stores the span asks again.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findUnjoined(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  { joinedToo = false }: { joinedToo?: boolean } = {},
): Promise<UnjoinedSpan[]> {
  const unjoined: UnjoinedSpan[] = [];
  for (let start = 0; start < traceIds.length; start += tracesPerQuery) {
    const counts = await countRecords(clickhouse, projectId, traceIds.slice(start, start + tracesPerQuery));
    if (counts.length === 0) continue;
    for (const span of await describe(clickhouse, projectId, counts)) {
      if (joinedToo || span.known !== span.used) unjoined.push(span);
    }
  }
  return unjoined;
}

async function describe(
  clickhouse: ClickHouse,
  projectId: string,
  counts: readonly RecordCount[],
): Promise<UnjoinedSpan[]> {
  const ofTraces = counts.filter(({ spanId }) => spanId === noSpan);
  const traceIds = new Set(ofTraces.map(({ traceId }) => traceId));
  const spans = counts.filter(({ traceId }) => !traceIds.has(traceId));
  const stored: JoinedSpan[] = [];
  for (let start = 0; start < spans.length; start += spansPerQuery) {
    const some = spans.slice(start, start + spansPerQuery);
    stored.push(...(await findJoinedSpans(clickhouse, projectId, { spans: some, traceIds: [] })));
  }
  let shown: ReadonlyMap<string, readonly StoredRecord[]> = new Map();
  if (traceIds.size > 0) {
    const whole = await findJoinedSpans(clickhouse, projectId, { spans: [], traceIds: [...traceIds] });
    shown = assigned(whole, await findRecords(clickhouse, projectId, { keys: ofTraces, bytesMax: traceBytesMax }));
    for (const span of whole) stored.push(span);
  }
  const countOf = new Map(counts.map((each) => [each.traceId + each.spanId, each]));
  return stored.flatMap(({ traceId, spanId, used, version }) => {
    const own = countOf.get(traceId + spanId);
    const ofTrace = shown.get(traceId + spanId) ?? [];
    const known = (own?.records ?? 0) + ofTrace.length;
    if (known === 0 && used === 0) return [];
    return [{ traceId, spanId, known, used, version, bytes: own?.bytes ?? 0, ofTrace }];
  });
}

/**
 * Returns which span shows each record of a whole trace: the only one with the response id that the
 * record names, else the earliest root. Without a root the record waits.
 */
function assigned(
  stored: readonly JoinedSpan[],
  byTrace: ReadonlyMap<string, readonly StoredRecord[]>,
): Map<string, StoredRecord[]> {
  const shown = new Map<string, StoredRecord[]>();
  for (const records of byTrace.values()) {
    const spans = stored.filter(({ traceId }) => traceId === records[0]?.traceId);
    const root = spans.filter(({ isRoot }) => isRoot).sort(byStart)[0];
    for (const record of records) {
      const responseId = record.attributes.get('gen_ai.response.id');
      const answered = spans.filter((span) => span.responseId !== '' && span.responseId === responseId);
      const span = answered.length === 1 ? answered[0] : root;
      if (span === undefined) continue;
      const key = span.traceId + span.spanId;
      shown.set(key, [...(shown.get(key) ?? []), { ...record, spanId: '' }]);
    }
  }
  return shown;
}

function byStart(a: JoinedSpan, b: JoinedSpan): number {
  const [first, second] = [BigInt(a.startUnixNano), BigInt(b.startUnixNano)];
  if (first !== second) return first < second ? -1 : 1;
  return a.spanId < b.spanId ? -1 : 1;
}
