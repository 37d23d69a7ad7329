import { originOf, TooLargeError } from '../../lib/errors.ts';
import { groupsOf, mapInSlices } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { isTooMuchMemory } from '../../stores/clickhouse/errors.ts';
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
  /** Bytes of one span as it was sent, and of its records. */
  spanBytesMax: number;
  /** Bytes of the spans of one group, and of their records, as ClickHouse counts them. */
  readBytesMax: number;
  /** Whether traces with many spans or evaluations are joined. */
  largeToo: boolean;
  /** After so many milliseconds, no further group begins. */
  msMax: number;
  /** So many milliseconds later, a large trace is left even if nothing was missing since. */
  lookMsMax: number;
}

/** On the main thread: each step takes less than 50 ms, the longest is that of one span. */
export const joinHere: JoinBounds = {
  traceBytesMax: 256 * 1024,
  groupBytesMax: 1024 * 1024,
  spanBytesMax: 128 * 1024,
  readBytesMax: 4 * 1024 * 1024,
  largeToo: false,
  msMax: 500,
  lookMsMax: 0,
};
/**
 * In a thread. One span has at most what one body may have, and the limits of its records. Looking through 300,000
 * spans that lack nothing takes 5 s, and 10 s on a busy machine.
 */
export const joinInThread: JoinBounds = {
  traceBytesMax: Number.POSITIVE_INFINITY,
  groupBytesMax: 4 * 1024 * 1024,
  spanBytesMax: Number.MAX_SAFE_INTEGER,
  readBytesMax: 128 * 1024 * 1024,
  largeToo: true,
  msMax: 10_000,
  lookMsMax: 10_000,
};

/** What became of a join. Traces are not joined, or not whole. */
export interface Joined {
  /** Spans that were written again. */
  joined: number;
  /** Those over the bounds, at least in part. */
  large: ReadonlySet<string>;
  /** Those for which there was no time. */
  later: ReadonlySet<string>;
}

/**
 * Gives the stored spans of the traces the content of their log records: writes their rows again,
 * with their time of receipt. A row that knows of more records wins, whichever is written last, so
 * several workers may join the same trace.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function joinRecords(
  clickhouse: ClickHouse,
  { projectId, traceIds, joinedToo = false, costOf = storedCost }: TracesToJoin,
  bounds: JoinBounds,
): Promise<Joined> {
  const join = { clickhouse, projectId, costOf, ...bounds, ...newLeft(bounds) };
  const { spans, large } = await findUnjoined(clickhouse, projectId, traceIds, { joinedToo, endMs: join.endMs });
  await joinSpans(join, spans);
  for (const traceId of large) {
    if (!bounds.largeToo) join.large.add(traceId);
    else await joinLarge(join, traceId, joinedToo);
  }
  return join;
}

async function joinLarge(join: Join, traceId: string, joinedToo: boolean): Promise<void> {
  for await (const some of findUnjoinedOfLarge(join.clickhouse, join.projectId, traceId, joinedToo)) {
    await joinSpans(join, some);
    if (isOver(join, some.length === 0 ? join.lookMsMax : 0)) return void join.later.add(traceId);
  }
}

/** One join under way, and what it leaves. */
interface Join extends JoinBounds {
  clickhouse: ClickHouse;
  projectId: string;
  costOf: NonNullable<TracesToJoin['costOf']>;
  joined: number;
  large: Set<string>;
  later: Set<string>;
  /** By `performance.now()`. */
  endMs: number;
}

/** Returns that nothing is left yet, and when the time of a join ends that begins now. */
export function newLeft({ msMax }: JoinBounds): Pick<Join, 'joined' | 'large' | 'later' | 'endMs'> {
  return { joined: 0, large: new Set(), later: new Set(), endMs: performance.now() + msMax };
}

function isOver({ endMs }: Join, moreMs = 0): boolean {
  return performance.now() > endMs + moreMs;
}

/** Joins spans in groups, and notes in `join` what is left. */
export async function joinSpans(join: Join, unjoined: readonly UnjoinedSpan[]): Promise<void> {
  const bytes = new Map<string, number>();
  for (const span of unjoined) bytes.set(span.traceId, (bytes.get(span.traceId) ?? 0) + span.bytes);
  const tooMany = new Set([...bytes].filter(([, count]) => count > join.traceBytesMax).map(([traceId]) => traceId));
  for (const span of unjoined) if (span.bytes > join.spanBytesMax) tooMany.add(span.traceId);
  for (const traceId of tooMany) join.large.add(traceId);
  const open = unjoined.filter(({ traceId }) => !tooMany.has(traceId));
  for (const group of groupsOf(open, { bytesMax: join.groupBytesMax, lengthMax: spansAtOnce })) {
    if (isOver(join)) for (const { traceId } of group) join.later.add(traceId);
    else for (const traceId of await rewriteApart(join, group)) join.large.add(traceId);
  }
}

/** A group that is too large is divided by this: each part that is too large as well takes seconds. */
const partsOfGroup = 8;

/** Writes the rows again, in smaller groups if they are too large. Returns the traces that cannot be joined here. */
async function rewriteApart(join: Join, spans: readonly UnjoinedSpan[]): Promise<string[]> {
  try {
    return await rewrite(join, spans);
  } catch (error) {
    if (!(error instanceof TooLargeError) && !isTooMuchMemory(originOf(error))) throw error;
    if (spans.length === 1) return spans.map(({ traceId }) => traceId);
  }
  const large: string[] = [];
  const lengthMax = Math.ceil(spans.length / partsOfGroup);
  for (const part of groupsOf(spans, { bytesMax: join.groupBytesMax, lengthMax })) {
    if (isOver(join)) for (const { traceId } of part) join.later.add(traceId);
    else for (const traceId of await rewriteApart(join, part)) large.push(traceId);
  }
  return large;
}

/** Writes the rows again. Returns the traces of spans that are too large. */
async function rewrite(join: Join, spans: readonly UnjoinedSpan[]): Promise<string[]> {
  const { clickhouse, projectId, costOf, spanBytesMax, readBytesMax } = join;
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
  join.joined += rows.length;
  return [...unjoinedOf.values()].map(({ traceId }) => traceId);
}

function joinedRow(
  stored: StoredSpan,
  unjoined: UnjoinedSpan,
  { own, costOf }: { own: readonly StoredRecord[]; costOf: Join['costOf'] },
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
