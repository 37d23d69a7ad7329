import { originOf } from '../../lib/errors.ts';
import { backgroundSettings, type ClickHouse } from '../../stores/clickhouse/client.ts';
import { isTooMuchMemory } from '../../stores/clickhouse/errors.ts';
import { pick, plain, type RowReader, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { rowsOf } from '../../stores/clickhouse/statements.ts';
import { rowAge } from './newest-rows.ts';
import { storedBytesSql } from './span-bytes.ts';
import {
  detailFields,
  partFields,
  partNames,
  requireSmallHeads,
  type SpanDetail,
  type SpanPart,
  spanParts,
} from './span-detail.ts';
import { spanFields } from './span-fields.ts';
import { boundSpans, ofSpans, ofTrace, ofTraces, type TraceKey } from './trace-sql.ts';

/** The position of a span in its trace: ordered by start, then by id. */
export interface SpanPlace {
  startUnixNano: bigint;
  spanId: string;
}

/**
 * Returns the positions of the first `limit` spans after a position, each span once.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findSpanPlaces(
  clickhouse: ClickHouse,
  trace: TraceKey,
  after: SpanPlace | undefined,
  limit: number,
): Promise<SpanPlace[]> {
  const isAfter = 'WHERE (start_unix_nano, span_id) > ({afterStart:UInt64}, toFixedString(unhex({afterId:String}), 8))';
  return rowsOf(
    clickhouse,
    places,
    `SELECT ${places.columns} FROM
       (SELECT span_id, start_unix_nano FROM spans PREWHERE ${ofTrace}
        ORDER BY ${rowAge} DESC LIMIT 1 BY span_id)
     ${after === undefined ? '' : isAfter} ORDER BY start_unix_nano, span_id LIMIT {limit:UInt32}`,
    { ...trace, limit, ...(after && { afterStart: String(after.startUnixNano), afterId: after.spanId }) },
  );
}

const places = rowReader(pick(spanFields, ['startUnixNano', 'spanId']));

export interface SpanBounds {
  include: { has(part: SpanPart): boolean };
  /** A part with more stored bytes is left out of its row and named in `cut`. */
  partBytesMax: number;
  /** Rows beyond this many bytes, as stored, are not read, but never the first one. */
  bytesMax: number;
  /** Whether a row may have more text besides its parts than {@link requireSmallHeads} allows. */
  large: boolean;
}

/**
 * ClickHouse uses up to 300 MB for a span of 64 MiB, the largest that one body can bring, and for eight spans of a
 * mebibyte among others as large.
 */
const memoryMax = '500000000';
/** Rows that ClickHouse reads at once. Without it, their number depends on the rows of all tenants. */
const rowsTogetherMin = 64;
/** Spans that take too much memory together are divided by this. */
const partsOfGroup = 8;

/**
 * Returns the given spans as last received, ordered by position, as many as `bytesMax` allows.
 * ClickHouse never sends what is over a bound, and never reads what is over `bytesMax`.
 * @throws LargeTraceError when `large` is false and one has too much text besides its parts
 * @throws TooLargeError when the first one alone is larger than a result of `clickhouse` may be, or takes too much memory
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findSpanRows(
  clickhouse: ClickHouse,
  trace: TraceKey,
  spanIds: readonly string[],
  bounds: SpanBounds,
): Promise<SpanDetail[]> {
  try {
    const rows = await readSpanRows(clickhouse, trace, spanIds, bounds);
    if (!bounds.large) requireSmallHeads(rows);
    return rows;
  } catch (error) {
    if (!isTooMuchMemory(originOf(error)) || (spanIds.length === 1 && !bounds.large)) throw error;
  }
  // The largest spans, whose events were escaped, and those that wait for a merge twice.
  if (spanIds.length === 1) return readSpanRows(clickhouse, trace, spanIds, { ...bounds, memory: 'all' });
  const length = Math.ceil(spanIds.length / partsOfGroup);
  for (let start = 0; start < spanIds.length; start += length) {
    const rows = await findSpanRows(clickhouse, trace, spanIds.slice(start, start + length), bounds);
    if (rows.length > 0) return rows;
  }
  return [];
}

function readSpanRows(
  clickhouse: ClickHouse,
  trace: TraceKey,
  spanIds: readonly string[],
  { include, partBytesMax, bytesMax, memory }: SpanBounds & { memory?: 'all' },
): Promise<SpanDetail[]> {
  const parts = partNames.filter((part) => include.has(part));
  const isCut = (part: SpanPart) => `${bytesOf(part)} > ${partBytesMax}`;
  const shown = partFields(parts, (column, part) => `if(${isCut(part)}, ${emptyOf(column, part)}, ${column})`);
  const cut = parts.map((part) => `if(${isCut(part)}, ['${part}'], [])`);
  const reader: RowReader<SpanDetail> = rowReader({
    ...detailFields,
    ...shown,
    cut: plain<SpanPart[]>(`arrayConcat([], ${cut.join(', ') || '[]'})`),
    storedBytes: plain<number>(`toFloat64(${parts.map(bytesOf).join(' + ') || '0'})`),
  });
  const wanted = `spans PREWHERE ${ofTrace} AND span_id IN reinterpret(unhex({spanIds:String}), 'Array(FixedString(8))')`;
  const newest = `ORDER BY ${rowAge} DESC LIMIT 1 BY span_id`;
  // A statement that sorts rows holds all of them, so the rows that fit are found by their lengths.
  const fitting = `SELECT span_id, received_at, log_records FROM
      (SELECT span_id, received_at, log_records, start_unix_nano, ${storedBytesSql(parts)} AS bytes FROM ${wanted} ${newest})
    QUALIFY (sum(bytes) OVER (ORDER BY start_unix_nano, span_id) AS running) <= {bytesMax:UInt64} OR running = bytes`;
  return rowsOf(
    clickhouse,
    reader,
    `SELECT ${reader.columns} FROM
       (SELECT * FROM ${wanted} AND (span_id, received_at, log_records) IN (${fitting}) ${newest})
     ORDER BY start_unix_nano, span_id`,
    { ...trace, spanIds: spanIds.join(''), bytesMax },
    {
      ...(memory === 'all' ? {} : { max_memory_usage: memoryMax }),
      max_block_size: String(Math.max(rowsTogetherMin, spanIds.length)),
    },
  );
}

/** Returns the SQL for the size of a part, as ClickHouse stores it in memory. */
const bytesOf = (part: SpanPart) => `byteSize(${Object.values(spanParts[part]).join(', ')})`;

function emptyOf(sql: string, part: SpanPart): string {
  return part === 'attributes' ? `CAST(map(), toTypeName(${sql}))` : "''";
}

/** The prefix of the attributes that contain the variables of a prompt. */
export const variablePrefix = 'gen_ai.prompt.variable.';

/** Bytes that one text, or all variables of a span, may have. */
const textBytesMax = 65_536;

const areCut = `byteSize(${Object.keys(spanParts.attributes).join(', ')}) > ${textBytesMax}`;

const callTextFields = {
  ...pick(spanFields, ['traceId', 'spanId', 'parentSpanId']),
  /** The input if it is a JSON object, otherwise ''. */
  objectInput: plain<string>(`if(startsWith(input, '{') AND length(input) <= ${textBytesMax}, input, '')`),
  output: plain<string>(`if(length(output) <= ${textBytesMax}, output, '')`),
  outputIsCut: plain<boolean>(`length(output) > ${textBytesMax}`),
  variablesAreCut: plain<boolean>(areCut),
  /** The metadata `source`: `optimization` for requests of the service itself. */
  source: plain<string>('source'),
};
const callTexts = rowReader({
  ...callTextFields,
  ...partFields(['attributes'], (_sql, part, name) => `if(${areCut}, ${emptyOf(name, part)}, ${name})`),
});

/**
 * Returns the texts of some spans as last received, in no particular order. The caller bounds their
 * number, and so the bytes: at most 192 KiB each.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function findCallTexts(
  clickhouse: ClickHouse,
  projectId: string,
  spans: readonly { traceId: string; spanId: string }[],
): Promise<ReturnType<typeof callTexts.decode>[]> {
  if (spans.length === 0) return Promise.resolve([]);
  const variables = Object.entries(spanParts.attributes).map(
    ([name, sql]) => `mapFilter((key, value) -> startsWith(key, '${variablePrefix}'), ${sql}) AS ${name}`,
  );
  return rowsOf(
    clickhouse,
    callTexts,
    `SELECT ${callTexts.columns} FROM
       (SELECT trace_id, span_id, parent_span_id, input, output, ${variables.join(', ')},
          attributes_string['promptlane.metadata.source'] AS source
        FROM spans PREWHERE project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')}
          AND ${ofSpans}
        ORDER BY ${rowAge} DESC LIMIT 1 BY trace_id, span_id)`,
    { projectId, traceIds: spans.map(({ traceId }) => traceId).join(''), ...boundSpans(spans) },
    backgroundSettings,
  );
}
