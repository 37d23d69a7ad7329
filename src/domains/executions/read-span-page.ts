import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { SpanPrompt } from '../prompt-links/index.ts';
import {
  findSpanPlaces,
  findSpanRows,
  type SpanDetail,
  type SpanPart,
  type SpanPlace,
  type TraceKey,
} from '../spans/index.ts';
import { ownerReader } from './span-parts.schema.ts';
import { type SpanTextOptions, spanToText } from './span-text.ts';

/** One answer gives out so many bytes of spans, and one span more where a single one is larger. */
export const pageBytesMax = 8 * 1024 * 1024;
/** A part of more bytes stays in the store: it is read by itself. No single attribute value is larger. */
export const partBytesMax = 1024 * 1024;
/** The most that a part may have to be answered within its span, in UTF-16 units of its JSON text. */
export const partCharsMax = 1_000_000;

/** Rows that are read together: few until it is known how large they are. */
const rows = { first: 128, min: 16, max: 2_000 } as const;

export interface SpanPage {
  /** JSON texts, in order of start. */
  spans: string[];
  /** Where the next page begins; undefined after the last span. */
  last: SpanPlace | undefined;
}

/** Where the spans of a page come from. */
export interface SpanSource {
  /** In order of start; one more than the page may hold, where there are more. */
  places: readonly SpanPlace[];
  /** Those spans in their order, as many as `bytesMax` lets through, at least one. */
  read(spanIds: readonly string[], bytesMax: number): Promise<SpanDetail[]>;
}

export interface SpanPageInput {
  limit: number;
  include: ReadonlySet<SpanPart>;
  promptOf: (row: SpanDetail) => SpanPrompt | null;
  readPart: SpanTextOptions['readPart'];
}

/** The next `limit` spans of a trace in the store, of any size, and one more. Throws UnavailableError. */
export async function storedSpans(
  clickhouse: ClickHouse,
  {
    trace,
    after,
    limit,
    include,
  }: { trace: TraceKey; after: SpanPlace | undefined; limit: number; include: ReadonlySet<SpanPart> },
): Promise<SpanSource> {
  const places = await findSpanPlaces(clickhouse, trace, after, limit + 1);
  return {
    places,
    read: (spanIds, bytesMax) => findSpanRows(clickhouse, trace, spanIds, { include, partBytesMax, bytesMax }),
  };
}

/** Spans that have been read, all of a trace, in order of start. */
export function readSpans(rows: readonly SpanDetail[]): SpanSource {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return {
    places: rows.map(({ id, start_unix_nano }) => ({ startUnixNano: start_unix_nano, spanId: id })),
    read: async (spanIds) => spanIds.flatMap((id) => byId.get(id) ?? []),
  };
}

/** The first spans of a source, as many as `limit` and {@link pageBytesMax} let through. Throws as the source and `readPart` do. */
export async function readSpanPage({ places: found, read }: SpanSource, input: SpanPageInput): Promise<SpanPage> {
  const { limit, include, promptOf, readPart } = input;
  const options = { include, partCharsMax, owners: ownerReader(), readPart };
  const places = found.slice(0, limit);
  const spans: string[] = [];
  let bytes = 0;
  let next = 0;
  let together: number = rows.first;
  while (next < places.length) {
    const wanted = places.slice(next, next + together).map(({ spanId }) => spanId);
    const spanRows = await read(wanted, pageBytesMax - bytes);
    for (const row of spanRows) {
      const text = await spanToText(row, promptOf(row), options);
      bytes += Buffer.byteLength(text);
      if (bytes > pageBytesMax && spans.length > 0) return { spans, last: places[next - 1] };
      spans.push(text);
      next = indexAfter(places, row.id, next);
    }
    // Retention may have taken spans since their places were read.
    if (spanRows.length === 0) next += wanted.length;
    const fitting = Math.ceil((pageBytesMax - bytes) / Math.max(1, bytes / Math.max(1, spans.length)));
    together = Math.min(rows.max, Math.max(rows.min, fitting));
  }
  return { spans, last: found.length > limit ? places.at(-1) : undefined };
}

/** Where the place after a span is, which is at `from` or soon after it. */
function indexAfter(places: readonly SpanPlace[], spanId: string, from: number): number {
  for (let index = from; index < places.length; index++) if (places[index]?.spanId === spanId) return index + 1;
  return from;
}
