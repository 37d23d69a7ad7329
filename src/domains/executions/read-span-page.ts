import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { SpanPrompt } from '../prompts/index.ts';
import { ownerReader } from './span-parts.schema.ts';
import {
  findSpanPlaces,
  findSpanRows,
  type SpanPart,
  type SpanPlace,
  type SpanRow,
  type TraceKey,
} from './span-queries.ts';
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

export interface SpanPageInput {
  trace: TraceKey;
  after: SpanPlace | undefined;
  limit: number;
  include: ReadonlySet<SpanPart>;
  promptOf: (row: SpanRow) => SpanPrompt | null;
  readPart: SpanTextOptions['readPart'];
}

/** The next spans of a trace, as many as `limit` and {@link pageBytesMax} let through. Throws UnavailableError, and as `readPart` does. */
export async function readSpanPage(clickhouse: ClickHouse, input: SpanPageInput): Promise<SpanPage> {
  const { trace, after, limit, include, promptOf, readPart } = input;
  const options = { include, partCharsMax, owners: ownerReader(), readPart };
  const found = await findSpanPlaces(clickhouse, trace, after, limit + 1);
  const places = found.slice(0, limit);
  const spans: string[] = [];
  let bytes = 0;
  let next = 0;
  let together: number = rows.first;
  while (next < places.length) {
    const wanted = places.slice(next, next + together).map(({ spanId }) => spanId);
    const read = await findSpanRows(clickhouse, trace, wanted, {
      include,
      partBytesMax,
      bytesMax: pageBytesMax - bytes,
    });
    for (const row of read) {
      const text = await spanToText(row, promptOf(row), options);
      bytes += Buffer.byteLength(text);
      if (bytes > pageBytesMax && spans.length > 0) return { spans, last: places[next - 1] };
      spans.push(text);
      next = indexAfter(places, row.id, next);
    }
    // Retention may have taken spans since their places were read.
    if (read.length === 0) next += wanted.length;
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
