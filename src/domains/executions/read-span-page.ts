import { oneTurn, Pace } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { SpanPrompt } from '../prompt-links/index.ts';
import type { TraceKey } from '../spans/index.ts';
import { findSpanPlaces, findSpanRows, type SpanDetail, type SpanPlace } from '../spans/reads.ts';
import type { LogsOf, logsReader, ShownPart } from './read-logs.ts';
import { ownerReader } from './span-parts.schema.ts';
import { type SpanTextOptions, spanToText } from './span-text.ts';

/** Maximum bytes of spans in one answer. A single span that is larger is answered alone. */
export const pageBytesMax = 8 * 1024 * 1024;
/**
 * Maximum bytes that are read for one answer, as stored: a part that is too large to be answered is read as well, in
 * about three seconds for all of them. The span with which they are exceeded is the last one.
 */
const readBytesMax = 32 * 1024 * 1024;
/**
 * A span part of more bytes is not read with its row, but by itself. No single attribute value is
 * larger.
 */
export const partBytesMax = 1024 * 1024;
/** A span part with more UTF-16 units of JSON text is not answered within its span. */
export const partCharsMax = 1_000_000;

/**
 * Number of rows that one query reads. The first is small, because the size of the rows is not
 * known yet.
 */
const rows = { first: 128, min: 16, max: 2_000 } as const;

export interface SpanPage {
  /** JSON text of each span, in order of start. */
  spans: string[];
  /** The place of the last span on this page, if more spans follow; otherwise undefined. */
  last: SpanPlace | undefined;
}

/** Where the spans of a page are read from. */
export interface SpanSource {
  /** In order of start. One more than the page may hold, if there are more. */
  places: readonly SpanPlace[];
  /** Returns those spans in their order, as many as `bytesMax` allows as stored, but at least one. */
  read(spanIds: readonly string[], bytesMax: number): Promise<SpanDetail[]>;
}

export interface SpanPageInput {
  limit: number;
  include: ReadonlySet<ShownPart>;
  readLogs: ReturnType<typeof logsReader>;
  promptOf: (row: SpanDetail) => SpanPrompt | null;
  /** Whether large parts may be converted in this thread. */
  large: boolean;
  readPart: SpanTextOptions['readPart'];
}

/**
 * Returns a source of the next `limit` spans of a trace of any size in ClickHouse, and one more
 * place. Its `read` throws LargeTraceError when `large` is false and a span is too large.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function storedSpans(
  { clickhouse, large }: { clickhouse: ClickHouse; large: boolean },
  {
    trace,
    after,
    limit,
    include,
  }: { trace: TraceKey; after: SpanPlace | undefined; limit: number; include: ReadonlySet<ShownPart> },
): Promise<SpanSource> {
  const places = await findSpanPlaces(clickhouse, trace, after, limit + 1);
  return {
    places,
    read: (spanIds, bytesMax) => findSpanRows(clickhouse, trace, spanIds, { include, partBytesMax, bytesMax, large }),
  };
}

/**
 * Returns a source of spans that have been read already: all spans of a trace, in order of start.
 */
export function readSpans(rows: readonly SpanDetail[]): SpanSource {
  const byId = new Map(rows.map((row) => [row.spanId, row]));
  return {
    places: rows,
    read: async (spanIds) => spanIds.flatMap((id) => byId.get(id) ?? []),
  };
}

/**
 * Reads the first spans of a source, as many as `limit`, {@link pageBytesMax} and {@link readBytesMax} allow.
 * @throws LargePartError when `large` is false and a part is too large
 * @throws what the source and `readPart` throw
 */
export async function readSpanPage({ places: found, read }: SpanSource, input: SpanPageInput): Promise<SpanPage> {
  const { limit, include, promptOf, large, readPart, readLogs } = input;
  const options = { include, partCharsMax, owners: ownerReader(), large, readPart, pace: new Pace(oneTurn) };
  const places = found.slice(0, limit);
  const spans: string[] = [];
  const bytes = { answered: 0, read: 0 };
  const isFull = () => bytes.answered >= pageBytesMax || bytes.read >= readBytesMax;
  let next = 0;
  let together: number = rows.first;
  while (next < places.length && !isFull()) {
    const wanted = places.slice(next, next + together).map(({ spanId }) => spanId);
    const spanRows = await read(wanted, Math.min(pageBytesMax - bytes.answered, readBytesMax - bytes.read));
    const logsOf = include.has('logs') ? readLogs(withLogs(spanRows)) : noLogs;
    for (const row of spanRows) {
      const logs = await logsOf(row.spanId);
      const text = await spanToText(row, promptOf(row), { ...options, logs });
      bytes.answered += Buffer.byteLength(text);
      bytes.read += row.storedBytes + logs.length;
      if (bytes.answered > pageBytesMax && spans.length > 0) return { spans, last: places[next - 1] };
      spans.push(text);
      next = indexAfter(places, row.spanId, next);
      if (isFull()) break;
    }
    // Retention may have deleted these spans after their places were read.
    if (spanRows.length === 0) next += wanted.length;
    const fitting = Math.min(
      fittingSpans(pageBytesMax, bytes.answered, spans.length),
      fittingSpans(readBytesMax, bytes.read, spans.length),
    );
    together = Math.min(rows.max, Math.max(rows.min, fitting));
  }
  return { spans, last: next < found.length ? places[next - 1] : undefined };
}

/** Returns how many more spans fit if they are as large as the first ones. */
function fittingSpans(bytesMax: number, bytes: number, spans: number): number {
  return Math.ceil((bytesMax - bytes) / Math.max(1, bytes / Math.max(1, spans)));
}

const noLogs: LogsOf = async () => '[]';

function withLogs(spans: readonly SpanDetail[]): string[] {
  return spans.filter(({ logCount }) => logCount > 0).map(({ spanId }) => spanId);
}

/** Returns the index after the place of a span, which is at `from` or soon after it. */
function indexAfter(places: readonly SpanPlace[], spanId: string, from: number): number {
  for (let index = from; index < places.length; index++) if (places[index]?.spanId === spanId) return index + 1;
  return from;
}
