import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { type Decoded, pick, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { readFields, readRows } from '../../stores/clickhouse/statements.ts';
import { assertSmall, rowsHereMax } from './large-trace.ts';
import { type LightSpan, lightFields, toLightSpan } from './light-span.ts';
import { newestRows, type RowAge, rowAge } from './newest-rows.ts';
import { spanFields } from './span-fields.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace, ofTraces } from './trace-sql.ts';

/** Traces per query. Whole traces are large, so this bounds one answer. */
const wholeTracesPerQuery = 100;
/** The service shows no more spans of one trace than this. */
export const spansPerTraceMax = 20_000;

const reader = rowReader(lightFields);
const agedReader = rowReader({ ...lightFields, ...pick(spanFields, ['block', 'logRecords']) });

type Row = Decoded<typeof lightFields> & Pick<RowAge, 'block' | 'logRecords'>;

/**
 * Returns every span of the traces, each once as last received, in no particular order. It reads
 * all rows, so each trace should have few: for those it takes half the time that ClickHouse needs
 * to find the newest rows. Each of `traceIds` has 32 hex digits.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findLightSpans(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  settings: ClickHouseSettings = {},
): Promise<LightSpan[]> {
  const spans: LightSpan[] = [];
  for (let start = 0; start < traceIds.length; start += wholeTracesPerQuery) {
    const someIds = traceIds.slice(start, start + wholeTracesPerQuery);
    const rows = await plainRows(clickhouse, { projectId, traceIds: someIds, settings, rowsMax: undefined });
    for (const span of newestLightSpans(rows)) spans.push(span);
  }
  return spans;
}

/**
 * Returns every span of a trace with at most `rowsHereMax` rows, as {@link findLightSpans} does.
 * @throws LargeTraceError when the trace has more rows
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findFewLightSpans(
  clickhouse: ClickHouse,
  { projectId, traceId }: TraceKey,
): Promise<LightSpan[]> {
  const rowsMax = rowsHereMax + 1;
  return newestLightSpans(assertSmall(await plainRows(clickhouse, { projectId, traceIds: [traceId], rowsMax })));
}

/**
 * Returns the earliest `spansPerTraceMax` spans of a trace of any size, each once as last received.
 * FINAL would give the same, but takes two to five times as long: it reads every wanted column of
 * all neighboring rows in each data part.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findEarliestLightSpans(clickhouse: ClickHouse, trace: TraceKey): Promise<LightSpan[]> {
  const newest = (value: string) => `argMax(${value}, ${rowAge})`;
  const rows = await readRows<[copies: number, row: unknown[]]>(clickhouse, {
    query: `SELECT copies::Float64, row
            FROM (SELECT span_id, count() AS copies, ${newest(`tuple(${reader.columns})`)} AS row, ${newest('start_unix_nano')} AS start
                  FROM spans PREWHERE ${ofTrace} GROUP BY trace_id, span_id)
            ORDER BY start, span_id LIMIT ${spansPerTraceMax}`,
    query_params: { ...trace },
    format: 'JSONCompactEachRow',
  });
  return rows.map(([copies, row]) => toLightSpan(reader.decode(row), copies === 1));
}

function plainRows(
  clickhouse: ClickHouse,
  {
    projectId,
    traceIds,
    rowsMax,
    settings,
  }: { projectId: string; traceIds: readonly string[]; rowsMax: number | undefined; settings?: ClickHouseSettings },
): Promise<Row[]> {
  return readFields(clickhouse, agedReader, {
    query: `SELECT ${agedReader.columns}
            FROM spans PREWHERE project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')}
            ${rowsMax === undefined ? '' : `LIMIT ${rowsMax}`}`,
    query_params: { projectId, traceIds: traceIds.join('') },
    clickhouse_settings: { max_result_rows: '0', ...settings },
  });
}

function newestLightSpans(rows: readonly Row[]): LightSpan[] {
  return newestRows(rows).map(({ row, alone }) => toLightSpan(row, alone));
}
