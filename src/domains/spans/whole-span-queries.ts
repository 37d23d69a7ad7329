import { compareStarts } from '../../lib/span-tree.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { isTooLarge } from '../../stores/clickhouse/errors.ts';
import { ownPrompt } from './find-prompt-links.ts';
import { assertSmall, rowsHereMax } from './large-trace.ts';
import type { LightSpan } from './light-span.ts';
import { blockColumn, newestRows, type RowAge } from './newest-rows.ts';
import { headColumns, partNames, type SpanDetail, type SpanPart, spanParts } from './span-detail.ts';
import { rowsOf } from './span-detail-queries.ts';
import { toUsage } from './token-usage.ts';
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

type WholeRow = SpanDetail & {
  received_at_ms: string;
  block: string;
  retention_days: number;
  response_id: string;
  input_preview: string;
  output_preview: string;
};

/** Columns that a {@link LightSpan} needs in addition to a {@link SpanDetail}. */
const lightColumns = ['retention_days', 'response_id', 'input_preview', 'output_preview'];

/**
 * Returns all spans of a trace with at most {@link rowsHereMax} rows, as last received and not cut.
 * Undefined when they have more than `bytesMax` bytes. One query, without sorting in ClickHouse.
 * @throws LargeTraceError when the trace has more rows
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findWholeTrace(
  clickhouse: ClickHouse,
  trace: TraceKey,
  { include, bytesMax }: { include: ReadonlySet<SpanPart>; bytesMax: number },
): Promise<WholeTrace | undefined> {
  const shown = partNames.filter((part) => include.has(part)).flatMap((part): readonly string[] => spanParts[part]);
  const rows = await rowsOf<WholeRow>(
    clickhouse,
    `SELECT ${[...headColumns, ...lightColumns, ...shown].join(', ')}, [] AS cut,
       toUnixTimestamp64Milli(received_at) AS received_at_ms, ${blockColumn} AS block
     FROM spans PREWHERE ${ofTrace} LIMIT ${rowsHereMax + 1}`,
    { ...trace },
    'JSONEachRow',
    { max_result_bytes: String(bytesMax) },
  ).catch((error: unknown) => {
    if (isTooLarge(error)) return undefined;
    throw error;
  });
  if (rows === undefined) return undefined;
  const newest = newestRows(assertSmall(rows), ageOf);
  return {
    rows: newest
      .map(({ row }) => ({ row, spanId: row.id, startUnixNano: BigInt(row.start_unix_nano) }))
      .sort(compareStarts)
      .map(({ row }) => row),
    lights: newest.map(({ row, alone }) => toLightSpan(trace.traceId, row, alone)),
  };
}

function ageOf(row: WholeRow): RowAge {
  return { spanId: row.id, receivedAtMs: Number(row.received_at_ms), block: Number(row.block) };
}

/** Returns the light span of a row, equal to what `findLightSpans` reads. */
function toLightSpan(traceId: string, row: WholeRow, sentOnce: boolean): LightSpan {
  const hasPreviews = row.parent === '' || row.kind === 'llm';
  return {
    traceId,
    spanId: row.id,
    parentSpanId: row.parent,
    receivedAtMs: Number(row.received_at_ms),
    sentOnce,
    retentionDays: row.retention_days,
    startUnixNano: BigInt(row.start_unix_nano),
    endUnixNano: BigInt(row.end_unix_nano),
    kind: row.kind,
    name: row.name,
    status: row.status,
    service: row.service,
    environment: row.environment,
    provider: row.provider,
    model: row.model,
    usage: toUsage(row.usage),
    costNanoUsd: row.cost_source === 'none' ? null : BigInt(row.cost_nano_usd),
    costSource: row.cost_source,
    responseId: row.response_id,
    sessionId: row.session_id,
    userId: row.user_id,
    tags: row.tags,
    prompt: ownPrompt(row),
    inputPreview: hasPreviews ? row.input_preview : '',
    outputPreview: hasPreviews ? row.output_preview : '',
  };
}
