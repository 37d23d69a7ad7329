import { originOf } from '../../lib/errors.ts';
import { compareStarts } from '../../lib/span-tree.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { isTooLarge, isTooMuchMemory } from '../../stores/clickhouse/errors.ts';
import { pick, plain, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { rowsOf } from '../../stores/clickhouse/statements.ts';
import { assertSmall, rowsHereMax } from './large-trace.ts';
import { type LightSpan, lightFields, toLightSpan } from './light-span.ts';
import { newestRows } from './newest-rows.ts';
import {
  detailFields,
  partFields,
  partNames,
  requireSmallHeads,
  type SpanDetail,
  type SpanPart,
} from './span-detail.ts';
import { spanFields } from './span-fields.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace } from './trace-sql.ts';

/**
 * All spans of a trace: `rows` as they are answered, in order of start, and `lights` for the
 * summary.
 */
export interface WholeTrace {
  rows: SpanDetail[];
  lights: LightSpan[];
}

/**
 * Returns all spans of a trace with at most {@link rowsHereMax} rows, as last received and not cut.
 * Undefined when they have more than `bytesMax` bytes, or twice as many as JSON, or take more memory than a statement of
 * `clickhouse` may. One query, without sorting in ClickHouse.
 * @throws LargeTraceError when the trace has more rows, or a span too much text besides its parts
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findWholeTrace(
  clickhouse: ClickHouse,
  trace: TraceKey,
  { include, bytesMax }: { include: { has(part: SpanPart): boolean }; bytesMax: number },
): Promise<WholeTrace | undefined> {
  const parts = partNames.filter((part) => include.has(part));
  const reader = rowReader({
    ...lightFields,
    ...detailFields,
    ...partFields(parts, (column) => column),
    ...pick(spanFields, ['block', 'logRecords']),
    cut: plain<SpanPart[]>('[]'),
    storedBytes: plain<number>('0'),
  });
  const rows = await rowsOf(
    clickhouse,
    reader,
    `SELECT ${reader.columns} FROM spans PREWHERE ${ofTrace} LIMIT ${rowsHereMax + 1}`,
    { ...trace },
    { max_result_bytes: String(bytesMax) },
    2 * bytesMax,
  ).catch((error: unknown) => {
    if (isTooLarge(error) || isTooMuchMemory(originOf(error))) return undefined;
    throw error;
  });
  if (rows === undefined) return undefined;
  const newest = newestRows(assertSmall(rows));
  requireSmallHeads(rows);
  return {
    rows: newest.map(({ row }) => row).sort(compareStarts),
    lights: newest.map(({ row, alone }) => toLightSpan(row, alone)),
  };
}
