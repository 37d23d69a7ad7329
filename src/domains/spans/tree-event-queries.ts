import { groupsOf } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { field, pick, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { rowsOf } from '../../stores/clickhouse/statements.ts';
import { rowAge } from './newest-rows.ts';
import { spanFields } from './span-fields.ts';
import { ofTrace, type TraceKey } from './trace-sql.ts';
import type { TreeSpan } from './tree-span.ts';

type Events = TreeSpan['events'];

/** Events that a tree shows of one span, and code points of the name of each. */
const eventsMax = 64;
const eventNameCharsMax = 200;

/** SQL for the shown events of a row. */
const shownEvents = `arrayMap(e -> [substringUTF8(e.1, 1, ${eventNameCharsMax}), e.2],
  arraySlice(JSONExtract(events, 'Array(Tuple(name String, timeUnixNano String))'), 1, ${eventsMax}))`;

/** Returns the field of the shown events, given their SQL. */
const eventsFrom = (sql: string) =>
  field(
    sql,
    (events: [name: string, timeUnixNano: string][]): Events =>
      events.map(([name, timeUnixNano]) => ({ name, timeUnixNano: BigInt(timeUnixNano) })),
  );

export const shownEventsField = eventsFrom(shownEvents);

/** Bytes of stored events of one tree that are read: about a second of ClickHouse. */
const storedBytesMax = 1024 * 1024 * 1024;
/** Bytes of shown events of one tree, with about what each takes besides its name. */
const shownBytesMax = 32 * 1024 * 1024;
const eventBytes = 32;
/** Bytes that the shown events of one span take in ClickHouse at most, with four for each code point. */
const spanBytesMax = eventsMax * (4 * eventNameCharsMax + 64);
/** The spans of one statement. ClickHouse holds their shown events. A parameter may have 128 KiB. */
const group = { bytesMax: 128 * 1024 * 1024, lengthMax: 8_000 };

/** Bytes of stored events that ClickHouse reads at once, but at least one row, and rows. */
const block = { bytesMax: 16 * 1024 * 1024, rowsMax: 8_192 } as const;

const reader = rowReader({ ...pick(spanFields, ['spanId']), events: eventsFrom('events') });
const none: Events = [];

/** A span, and the bytes of its events as stored. */
interface SpanToRead {
  spanId: string;
  eventsBytes: number;
}

/**
 * Reads the events of the spans of a tree, each as last received, and returns the spans with them: the first ones, as
 * many as the limits of bytes allow. Of the events as they are stored, ClickHouse holds those of one block.
 * @throws TooLargeError when they take too much memory
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function withEvents<Row extends SpanToRead>(
  clickhouse: ClickHouse,
  trace: TraceKey,
  rows: readonly Row[],
): Promise<(Row & { events: Events })[]> {
  const shown = rows.slice(0, countWithin(rows, storedBytesMax));
  const wanted = shown.map(({ spanId, eventsBytes }, index) => ({
    ...{ spanId, index, eventsBytes },
    bytes: Math.min(eventsBytes, spanBytesMax),
  }));
  const found = new Map<string, Events>();
  const join = (end: number) => rows.slice(0, end).map((row) => ({ ...row, events: found.get(row.spanId) ?? none }));
  let shownBytes = 0;
  const withSome = wanted.filter(({ eventsBytes }) => eventsBytes > 0);
  for (const some of groupsOf(withSome, group)) {
    for (const { spanId, events } of await readEvents(clickhouse, trace, some)) found.set(spanId, events);
    for (const { spanId, index } of some) {
      shownBytes += bytesOf(found.get(spanId) ?? none);
      if (shownBytes > shownBytesMax) return join(index);
    }
  }
  return join(shown.length);
}

function readEvents(clickhouse: ClickHouse, trace: TraceKey, spans: readonly SpanToRead[]) {
  const largest = spans.reduce((most, { eventsBytes }) => Math.max(most, eventsBytes), 1);
  // Otherwise ClickHouse chooses the number by the rows of all tenants.
  const rowsTogether = Math.max(1, Math.min(block.rowsMax, Math.floor(block.bytesMax / largest)));
  const wanted = `spans PREWHERE ${ofTrace} AND span_id IN reinterpret(unhex({spanIds:String}), 'Array(FixedString(8))')`;
  return rowsOf(
    clickhouse,
    reader,
    `SELECT ${reader.columns} FROM
       (SELECT span_id, argMax(${shownEvents}, ${rowAge}) AS events
        FROM ${wanted} AND (span_id, received_at) IN (SELECT span_id, max(received_at) FROM ${wanted} GROUP BY span_id)
        GROUP BY span_id)`,
    { ...trace, spanIds: spans.map(({ spanId }) => spanId).join('') },
    { max_block_size: String(rowsTogether) },
  );
}

/** Returns how many of the first spans have at most so many bytes of stored events together. */
function countWithin(spans: readonly SpanToRead[], bytesMax: number): number {
  let bytes = 0;
  const end = spans.findIndex(({ eventsBytes }) => {
    bytes += eventsBytes;
    return bytes > bytesMax;
  });
  return end < 0 ? spans.length : end;
}

function bytesOf(events: Events): number {
  return events.reduce((sum, { name }) => sum + name.length + eventBytes, 0);
}
