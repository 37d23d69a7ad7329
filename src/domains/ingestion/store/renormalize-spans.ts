import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import { normalizeSpan } from '../../conventions/index.ts';
import {
  countTraceRows,
  findLightSpans,
  insertSpans,
  type LightSpan,
  lightSpanOf,
  type ReadSpan,
  readEngineClock,
  readStoredSpans,
  rebuildSpan,
  rebuiltRow,
  type SpanRow,
  type StoredSpan,
  type StoredSpansFilter,
  spanTable,
  storedCost,
} from '../../spans/index.ts';
import {
  groupByTrace,
  insertExecutions,
  smallTraceRowsMax,
  summarizeExecution,
  summarizeStoredTrace,
} from '../../summaries/index.ts';
import { keptCost } from './span-cost.ts';

const chunkSpansMax = 2_000;
const chunkLengthMax = 16 * 1024 * 1024;
/**
 * A worker that read a trace just before its spans were rewritten may store its summary just after.
 * So traces are summarized once more after this time, when such a worker is done.
 */
const summarizeAgainMs = 1_000;
const writtenMax = 50;

export interface RenormalizeDeps {
  clickhouse: ClickHouse;
  /** Called after every chunk with the number of spans rewritten so far. */
  onProgress: (spans: number) => void;
  /** Called for a span that cannot be read back; it stays unchanged. */
  onUnreadable: (traceId: string, spanId: string, error: unknown) => void;
}

/**
 * Normalizes the stored spans of a project again by the current rules, rewrites them with their
 * time of receipt, and summarizes their executions. Needs constant memory. May be interrupted, run
 * again, and run beside ingestion.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function renormalizeSpans(
  deps: RenormalizeDeps,
  filter: StoredSpansFilter & { projectId: string },
): Promise<number> {
  const { projectId } = filter;
  const written: { traceIds: string[]; writtenAtMs: number }[] = [];
  const summarizeAgain = async (left: number) => {
    for (const { traceIds, writtenAtMs } of written.splice(0, written.length - left)) {
      await sleep(Math.max(0, writtenAtMs + summarizeAgainMs - Date.now()));
      await summarize(deps.clickhouse, projectId, traceIds);
    }
  };
  let spans = 0;
  for await (const chunk of chunks(readStoredSpans(deps.clickhouse, filter))) {
    const rows = chunk.flatMap((stored) => normalizedAgain(deps, stored) ?? []);
    const traceIds = [...new Set(rows.map(({ span }) => span.traceId))];
    // Summaries come before the spans: after an interruption the spans still have the old version
    // and are read again.
    await summarize(deps.clickhouse, projectId, traceIds, rows);
    await writeSpans(deps.clickhouse, rows);
    written.push({ traceIds, writtenAtMs: Date.now() });
    if (written.length > writtenMax) await summarizeAgain(writtenMax);
    spans += rows.length;
    deps.onProgress(spans);
  }
  await summarizeAgain(0);
  return spans;
}

async function* chunks(spans: AsyncIterable<ReadSpan>): AsyncGenerator<StoredSpan[]> {
  let chunk: StoredSpan[] = [];
  let length = 0;
  for await (const span of spans) {
    chunk.push(span.row);
    length += span.length;
    if (chunk.length < chunkSpansMax && length < chunkLengthMax) continue;
    yield chunk;
    chunk = [];
    length = 0;
  }
  if (chunk.length > 0) yield chunk;
}

function normalizedAgain(deps: RenormalizeDeps, stored: StoredSpan): SpanRow | undefined {
  try {
    const span = rebuildSpan(stored);
    const normalized = normalizeSpan(span);
    return rebuiltRow(stored, span, normalized, keptCost(storedCost(stored), normalized));
  } catch (error) {
    deps.onUnreadable(stored.traceId, stored.spanId, error);
    return undefined;
  }
}

/**
 * Writes rows without a deduplication token: an insert of rows from other normalizer rules must not
 * be taken for a repetition of this one.
 */
async function writeSpans(clickhouse: ClickHouse, rows: readonly SpanRow[]): Promise<void> {
  if (rows.length === 0) return;
  await insertSpans(clickhouse, [spanTable.encode(rows)]);
}

/** Stores the executions as they are, or as they will be once `rows` are written. */
async function summarize(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  rows: readonly SpanRow[] = [],
): Promise<void> {
  const coming = new Map(rows.map((row) => [row.span.traceId + row.span.spanId, lightSpanOf(row)]));
  const version = await readEngineClock(clickhouse);
  const counts = await countTraceRows(clickhouse, projectId, traceIds);
  const small = traceIds.filter((traceId) => (counts.get(traceId) ?? 0) <= smallTraceRowsMax);
  const stored = await findLightSpans(clickhouse, projectId, small);
  const executions = [...groupByTrace(stored.map((span) => newer(span, coming.get(span.traceId + span.spanId))))].map(
    (trace) => summarizeExecution(projectId, trace, version),
  );
  await insertExecutions(clickhouse, executions);
  if (rows.length === 0)
    await summarizeLarge(
      clickhouse,
      projectId,
      traceIds.filter((id) => !small.includes(id)),
    );
}

/**
 * Summarizes large traces, only after their spans are written: new rows cannot be combined with a
 * trace that is not read completely.
 */
async function summarizeLarge(clickhouse: ClickHouse, projectId: string, traceIds: readonly string[]): Promise<void> {
  for (const traceId of traceIds) {
    const execution = await summarizeStoredTrace(clickhouse, projectId, traceId);
    if (execution !== undefined) await insertExecutions(clickhouse, [execution]);
  }
}

function newer(stored: LightSpan, coming: LightSpan | undefined): LightSpan {
  const newest = coming !== undefined && coming.receivedAtMs >= stored.receivedAtMs ? coming : stored;
  return { ...newest, sentOnce: stored.sentOnce && coming === undefined };
}
