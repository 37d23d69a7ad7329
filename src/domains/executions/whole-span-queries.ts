import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { isTooLarge } from '../../stores/clickhouse/errors.ts';
import { blockColumn, newestRows, type RowAge } from './newest-rows.ts';
import {
  headColumns,
  partNames,
  rowsOf,
  type SpanPart,
  type SpanRow,
  spanParts,
  type TraceKey,
} from './span-queries.ts';
import { ofTrace } from './trace-sql.ts';
import { compareStarts } from './tree/build-tree.ts';

/**
 * All spans of a trace of few rows in their order as last received, nothing of them cut; undefined where the trace has more than
 * `rowsMax` rows or these more than `bytesMax`. It is one query, and the engine has nothing to sort. Throws UnavailableError.
 */
export async function findWholeSpanRows(
  clickhouse: ClickHouse,
  trace: TraceKey,
  { include, rowsMax, bytesMax }: { include: ReadonlySet<SpanPart>; rowsMax: number; bytesMax: number },
): Promise<SpanRow[] | undefined> {
  const shown = partNames.filter((part) => include.has(part)).flatMap((part): readonly string[] => spanParts[part]);
  const rows = await rowsOf<SpanRow & { received_at_ms: string; block: string }>(
    clickhouse,
    `SELECT ${[...headColumns, ...shown].join(', ')}, [] AS cut, toUnixTimestamp64Milli(received_at) AS received_at_ms,
       ${blockColumn} AS block FROM spans PREWHERE ${ofTrace} LIMIT ${rowsMax + 1}`,
    { ...trace },
    'JSONEachRow',
    { max_result_bytes: String(bytesMax) },
  ).catch((error: unknown) => {
    if (isTooLarge(error)) return undefined;
    throw error;
  });
  if (rows === undefined || rows.length > rowsMax) return undefined;
  return newestRows(rows, ageOf)
    .map(({ row }) => ({ row, spanId: row.id, startUnixNano: BigInt(row.start_unix_nano) }))
    .sort(compareStarts)
    .map(({ row }) => row);
}

function ageOf(row: { id: string; received_at_ms: string; block: string }): RowAge {
  return { spanId: row.id, receivedAtMs: Number(row.received_at_ms), block: Number(row.block) };
}
