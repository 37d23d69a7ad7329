import { setTimeout as sleep } from 'node:timers/promises';
import { UnavailableError } from '../../../lib/errors.ts';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import { readEngineClock } from '../../../stores/clickhouse/statements.ts';
import { normalizeSpan } from '../../conventions/index.ts';
import { joinInThread, joinRecords } from '../../log-records/reads.ts';
import {
  countTraceRows,
  findLightSpans,
  insertSpans,
  type NormalizedSpan,
  noLogs,
  type SpanCost,
  type SpanRow,
  spanTable,
} from '../../spans/index.ts';
import {
  type ReadSpan,
  readStoredSpans,
  rebuildSpan,
  rebuiltRow,
  type StoredSpan,
  type StoredSpansFilter,
  storedCost,
} from '../../spans/reads.ts';
import {
  findOutdatedExecutions,
  groupByTrace,
  insertExecutions,
  smallTraceRowsMax,
  summarizeExecutions,
  summarizeStoredTrace,
} from '../../summaries/index.ts';
import { keptCost } from './span-cost.ts';

const chunkSpansMax = 2_000;
const chunkLengthMax = 16 * 1024 * 1024;
/**
 * A worker that read a trace just before its spans were rewritten may store its summary just after,
 * mostly within this time.
 */
const otherSummariesMs = 1_000;

export interface RenormalizeDeps {
  clickhouse: ClickHouse;
  /** Called after every chunk with the number of spans rewritten so far. */
  onProgress: (spans: number) => void;
  /** Called for a span that cannot be read back; it stays unchanged. */
  onUnreadable: (traceId: string, spanId: string, error: unknown) => void;
}

/**
 * Normalizes the stored spans of a project again by the current rules, rewrites them with their
 * time of receipt, and summarizes their executions. Needs constant memory. May be run again, and run
 * beside ingestion. After an interruption, {@link summarizeOutdated} finds the executions that are
 * left.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function renormalizeSpans(
  deps: RenormalizeDeps,
  filter: StoredSpansFilter & { projectId: string },
): Promise<number> {
  let spans = 0;
  for await (const chunk of chunks(readStoredSpans(deps.clickhouse, filter))) {
    const joined = chunk.filter(({ logRecords }) => logRecords > 0);
    const rows = chunk.flatMap((stored) => (stored.logRecords > 0 ? [] : (normalizedAgain(deps, stored) ?? [])));
    await writeSpans(deps.clickhouse, rows);
    await joinAgain(deps, filter.projectId, joined);
    const traceIds = new Set([...rows.map(({ span }) => span.traceId), ...joined.map(({ traceId }) => traceId)]);
    await summarize(deps.clickhouse, filter.projectId, [...traceIds]);
    spans += rows.length + joined.length;
    deps.onProgress(spans);
  }
  return spans;
}

/**
 * Summarizes the executions that were computed from spans of an older normalizer version: their
 * spans were rewritten by a command that was interrupted, or while a worker summarized them.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function summarizeOutdated(
  clickhouse: ClickHouse,
  filter: { projectId: string | undefined; belowVersion: number },
): Promise<void> {
  await sleep(otherSummariesMs);
  for await (const { projectId, traceIds } of findOutdatedExecutions(clickhouse, filter))
    await summarize(clickhouse, projectId, traceIds);
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
    return rebuiltRow(stored, span, { normalized, cost: costAgain(stored, normalized), logs: noLogs });
  } catch (error) {
    deps.onUnreadable(stored.traceId, stored.spanId, error);
    return undefined;
  }
}

/** Normalizes spans again that have the content of log records. Those that cannot be read stay unchanged. */
async function joinAgain(deps: RenormalizeDeps, projectId: string, spans: readonly StoredSpan[]): Promise<void> {
  if (spans.length === 0) return;
  const traceIds = [...new Set(spans.map(({ traceId }) => traceId))];
  const given = { projectId, joinedToo: true, costOf: costAgain };
  try {
    await joinRecords(deps.clickhouse, { ...given, traceIds }, { ...joinInThread, msMax: Number.POSITIVE_INFINITY });
  } catch (error) {
    if (error instanceof UnavailableError) throw error;
    for (const { traceId, spanId } of spans) deps.onUnreadable(traceId, spanId, error);
  }
}

function costAgain(stored: StoredSpan, normalized: NormalizedSpan): SpanCost {
  return keptCost(storedCost(stored), normalized);
}

async function writeSpans(clickhouse: ClickHouse, rows: readonly SpanRow[]): Promise<void> {
  if (rows.length === 0) return;
  await insertSpans(clickhouse, [spanTable.encode(rows)]);
}

/** Stores the executions of these traces as their spans are now. */
async function summarize(clickhouse: ClickHouse, projectId: string, traceIds: readonly string[]): Promise<void> {
  const version = await readEngineClock(clickhouse);
  const counts = await countTraceRows(clickhouse, projectId, traceIds);
  const isSmall = (traceId: string) => (counts.get(traceId) ?? 0) <= smallTraceRowsMax;
  const spans = await findLightSpans(clickhouse, projectId, traceIds.filter(isSmall));
  const executions = await summarizeExecutions(projectId, groupByTrace(spans), version);
  await insertExecutions(clickhouse, executions);
  for (const traceId of traceIds.filter((id) => !isSmall(id))) {
    const execution = await summarizeStoredTrace(clickhouse, projectId, traceId);
    if (execution !== undefined) await insertExecutions(clickhouse, [execution]);
  }
}
