import { TooLargeError } from '../../lib/errors.ts';
import { mapInSlices } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { normalizeSpan } from '../conventions/index.ts';
import { readJoinedText, readRecords } from '../conventions/reads.ts';
import { insertSpans, type NormalizedSpan, type SpanCost, type SpanRow, spanTable } from '../spans/index.ts';
import { readSpansOf, rebuildSpan, rebuiltRow, type StoredSpan, storedCost } from '../spans/reads.ts';
import { findUnjoined, findUnjoinedOfLarge, type UnjoinedSpan } from './find-unjoined.ts';
import { findRecords, type StoredRecord } from './log-record-queries.ts';

const readers = { readJoinedText, readRecords };

const spansAtOnce = 200;
/** Rows that are encoded in one step. */
const rowsPerBlock = 20;

/** The traces to join. */
export interface TracesToJoin {
  projectId: string;
  traceIds: readonly string[];
  /** Whether spans that have all their records are normalized again too. */
  joinedToo?: boolean;
  /** Returns the cost of a span that is normalized again; by default, the stored one. */
  costOf?: (stored: StoredSpan, normalized: NormalizedSpan) => SpanCost;
}

export interface JoinBounds {
  /** A trace whose unjoined spans have more bytes of records is left. */
  traceBytesMax: number;
  /** Bytes of the records of the spans that are joined together. */
  groupBytesMax: number;
  /** Bytes of one span as it was sent. */
  spanBytesMax: number;
  /** Bytes of the spans of one group, and of their records, as ClickHouse counts them. */
  readBytesMax: number;
  /** Whether traces with many spans or evaluations are joined. */
  largeToo: boolean;
}

/** On the main thread: each step takes less than 50 ms, the longest is that of one span. */
export const joinHere: JoinBounds = {
  traceBytesMax: 256 * 1024,
  groupBytesMax: 1024 * 1024,
  spanBytesMax: 256 * 1024,
  readBytesMax: 4 * 1024 * 1024,
  largeToo: false,
};
/** In a thread. One span has at most what one body may have, and the limits of its records. */
export const joinInThread: JoinBounds = {
  traceBytesMax: Number.POSITIVE_INFINITY,
  groupBytesMax: 4 * 1024 * 1024,
  spanBytesMax: Number.MAX_SAFE_INTEGER,
  readBytesMax: 128 * 1024 * 1024,
  largeToo: true,
};

/**
 * Gives the stored spans of the traces the content of their log records: writes their rows again,
 * with their time of receipt. A row that knows of more records wins, whichever is written last, so
 * several workers may join the same trace.
 * @returns the traces that are over the bounds, at least in part
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function joinRecords(
  clickhouse: ClickHouse,
  { projectId, traceIds, joinedToo = false, costOf = storedCost }: TracesToJoin,
  bounds: JoinBounds,
): Promise<ReadonlySet<string>> {
  const deps = { clickhouse, projectId, costOf, ...bounds };
  const { spans, large } = await findUnjoined(clickhouse, projectId, traceIds, joinedToo);
  const left = new Set(bounds.largeToo ? [] : large);
  for (const traceId of await joinSpans(deps, spans)) left.add(traceId);
  for (const traceId of bounds.largeToo ? large : []) {
    for await (const some of findUnjoinedOfLarge(clickhouse, projectId, traceId, joinedToo)) {
      for (const each of await joinSpans(deps, some)) left.add(each);
    }
  }
  return left;
}

/** Traces that are joined while a batch waits; the others are joined by the list of summaries. */
const atOnceMax = 300;

/**
 * Joins the records of those of the traces that lack some, as far as that is quick. What is large,
 * too much at once, or fails is left.
 * @returns the traces that lacked records or may lack some; all of them must be summarized, and those that are left
 * joined
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function joinAtOnce(
  { clickhouse, logger }: { clickhouse: ClickHouse; logger: Logger },
  projectId: string,
  traceIds: readonly string[],
): Promise<string[]> {
  const { spans: unjoined, large } = await findUnjoined(clickhouse, projectId, traceIds);
  const lacking = [...new Set(unjoined.map(({ traceId }) => traceId))];
  const first = new Set(lacking.slice(0, atOnceMax));
  try {
    const spans = unjoined.filter(({ traceId }) => first.has(traceId));
    await joinSpans({ clickhouse, projectId, costOf: storedCost, ...joinHere }, spans);
  } catch (error) {
    logger.warn({ err: error, project_id: projectId }, 'log records could not be joined at once');
  }
  return [...lacking, ...large];
}

async function joinSpans(deps: RewriteDeps, unjoined: readonly UnjoinedSpan[]): Promise<ReadonlySet<string>> {
  const bytes = new Map<string, number>();
  for (const span of unjoined) bytes.set(span.traceId, (bytes.get(span.traceId) ?? 0) + span.bytes);
  const left = new Set([...bytes].filter(([, count]) => count > deps.traceBytesMax).map(([traceId]) => traceId));
  const open = unjoined.filter(({ traceId }) => !left.has(traceId));
  for (const group of groups(open, deps.groupBytesMax)) {
    for (const traceId of await rewriteApart(deps, group)) left.add(traceId);
  }
  return left;
}

function groups(spans: readonly UnjoinedSpan[], bytesMax: number): UnjoinedSpan[][] {
  const found: UnjoinedSpan[][] = [];
  let bytes = 0;
  for (const span of spans) {
    const group = found.at(-1);
    if (group === undefined || group.length === spansAtOnce || bytes + span.bytes > bytesMax) {
      found.push([span]);
      bytes = span.bytes;
    } else {
      group.push(span);
      bytes += span.bytes;
    }
  }
  return found;
}

/** Writes the rows again, in smaller groups if they are too large. Returns the traces that cannot be joined here. */
async function rewriteApart(deps: RewriteDeps, spans: readonly UnjoinedSpan[]): Promise<string[]> {
  try {
    return await rewrite(deps, spans);
  } catch (error) {
    if (!(error instanceof TooLargeError)) throw error;
    if (spans.length === 1) return spans.map(({ traceId }) => traceId);
  }
  const half = Math.ceil(spans.length / 2);
  const first = await rewriteApart(deps, spans.slice(0, half));
  return [...first, ...(await rewriteApart(deps, spans.slice(half)))];
}

interface RewriteDeps extends JoinBounds {
  clickhouse: ClickHouse;
  projectId: string;
  costOf: NonNullable<TracesToJoin['costOf']>;
}

/** Writes the rows again. Returns the traces of spans that are too large. */
async function rewrite(
  { clickhouse, projectId, costOf, spanBytesMax, readBytesMax }: RewriteDeps,
  spans: readonly UnjoinedSpan[],
): Promise<string[]> {
  const [records, stored] = await Promise.all([
    findRecords(clickhouse, projectId, {
      keys: spans.map(({ known, ...span }) => ({ ...span, records: known })),
      bytesMax: readBytesMax,
    }),
    readSpansOf(clickhouse, projectId, { spans, spanBytesMax, bytesMax: readBytesMax }),
  ]);
  const unjoinedOf = new Map(spans.map((span) => [span.traceId + span.spanId, span]));
  const joined = await mapInSlices(stored, (span) => {
    const key = span.traceId + span.spanId;
    const unjoined = unjoinedOf.get(key);
    unjoinedOf.delete(key);
    return unjoined && joinedRow(span, unjoined, { own: records.get(key) ?? [], costOf });
  });
  const rows = joined.filter((row) => row !== undefined);
  const starts = rows.map((_, index) => index).filter((index) => index % rowsPerBlock === 0);
  const blocks = await mapInSlices(starts, (start) => spanTable.encode(rows.slice(start, start + rowsPerBlock)));
  if (blocks.length > 0) await insertSpans(clickhouse, blocks);
  return [...unjoinedOf.values()].map(({ traceId }) => traceId);
}

function joinedRow(
  stored: StoredSpan,
  unjoined: UnjoinedSpan,
  { own, costOf }: { own: readonly StoredRecord[]; costOf: RewriteDeps['costOf'] },
): SpanRow {
  const span = rebuildSpan(stored);
  const records = [...own, ...unjoined.ofTrace];
  const normalized = normalizeSpan(span, undefined, { records, readers });
  const known = Math.max(unjoined.known, records.length);
  const logs = {
    version: Math.max(known, unjoined.version),
    count: own.length,
    dropped: known - records.length,
    ofTrace: unjoined.ofTrace.length,
  };
  return rebuiltRow(stored, span, { normalized, cost: costOf(stored, normalized), logs });
}
