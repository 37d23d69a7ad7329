import type { Queue } from 'bullmq';
import { countSummaries } from '../../queue/summary-counts.ts';
import { listForSummary, withoutPlace } from '../../queue/summary-list.ts';
import { unfinishedReceiptAtMs } from '../../queue/unfinished-receipt.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { summariesSweptKey } from '../../stores/redis/names.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { findProjectWorkspaces } from '../workspaces/index.ts';
import { findDifferingTraces } from './differing-trace-queries.ts';

export interface ReconcileSummariesDeps {
  clickhouse: ClickHouse;
  postgres: Postgres;
  redis: Redis;
  ingest: readonly Queue[];
  isolation: Queue;
  logger: Logger;
}

const minuteMs = 60_000;
/** Spans received within this time may still be on their way to a summary. */
const quietMs = 5_000;
/** Every run checks this time span, because it would contain a new loss. */
const recentMs = 10 * minuteMs;
/** The time span that runs check again and again in slices, as far as time allows. */
const lookBackMs = 30 * 24 * 60 * minuteMs;
/**
 * A slice doubles while checks are quick, because it contains little. It halves when one is slow.
 */
const slice = { firstMs: 60 * minuteMs, minMs: 5 * minuteMs, maxMs: 24 * 60 * minuteMs, quickMs: 300, slowMs: 1_000 };
/** A run begins no further slice after this time. */
const runMsMax = 5_000;
/** Traces of one slice. The next run finds the others. */
const tracesMax = 10_000;

/**
 * Compares spans with executions. Traces whose execution is missing or incomplete are put on the
 * list of summaries and counted as mended: 0 as long as nothing is lost. Every run checks the last
 * ten minutes, then continues through the last thirty days.
 */
export async function reconcileSummaries(deps: ReconcileSummariesDeps, { nowMs }: { nowMs: number }): Promise<void> {
  const unfinishedAtMs = await unfinishedReceiptAtMs(deps.redis, [...deps.ingest, deps.isolation]);
  if (unfinishedAtMs === undefined) return; // The workers are far behind; a later run can compare.
  const endMs = Math.min(nowMs - quietMs, unfinishedAtMs);
  const startedAtMs = performance.now();
  await mend(deps, endMs - recentMs, endMs);
  const begin = endMs - lookBackMs;
  let at = Math.max(begin, Number((await deps.redis.get(summariesSweptKey)) ?? begin));
  let sliceMs = slice.firstMs;
  while (at < endMs - recentMs && performance.now() - startedAtMs < runMsMax) {
    const tookMs = await mend(deps, at, Math.min(at + sliceMs, endMs));
    at += sliceMs;
    if (tookMs < slice.quickMs) sliceMs = Math.min(2 * sliceMs, slice.maxMs);
    else if (tookMs > slice.slowMs) sliceMs = Math.max(sliceMs / 2, slice.minMs);
  }
  await deps.redis.set(summariesSweptKey, at < endMs - recentMs ? at : begin);
}

/** Puts the lost traces of a time window on the list. Resolves to the milliseconds it took. */
async function mend(deps: ReconcileSummariesDeps, fromMs: number, toMs: number): Promise<number> {
  const startedAtMs = performance.now();
  const byProject = await findLost(deps, { fromMs, toMs, tracesMax });
  const workspaces = await findProjectWorkspaces(deps.postgres, [...byProject.keys()]);
  for (const [projectId, traceIds] of byProject) {
    const workspaceId = workspaces.get(projectId);
    if (workspaceId === undefined) continue; // The project was deleted.
    const added = await listForSummary(deps.redis, { workspaceId, projectId }, traceIds);
    await countSummaries(deps.redis, 'mended', added);
    if (added > 0) deps.logger.warn({ project_id: projectId, traces: added }, 'executions differ from their spans');
  }
  return performance.now() - startedAtMs;
}

/**
 * Returns the traces that differ, by project. A trace that is or was on the list meanwhile is not
 * lost: a lost trace must differ again after a check found no place for it on the list.
 */
async function findLost(
  { clickhouse, redis }: ReconcileSummariesDeps,
  window: Parameters<typeof findDifferingTraces>[1],
): Promise<Map<string, string[]>> {
  const suspects = new Map<string, string[]>();
  for (const [projectId, traceIds] of await findDiffering(clickhouse, window)) {
    const absent = await withoutPlace(redis, projectId, traceIds);
    if (absent.length > 0) suspects.set(projectId, absent);
  }
  if (suspects.size === 0) return suspects;
  const again = await findDiffering(clickhouse, window);
  const lost = new Map<string, string[]>();
  for (const [projectId, traceIds] of suspects) {
    const differing = new Set(again.get(projectId));
    const own = traceIds.filter((traceId) => differing.has(traceId));
    if (own.length > 0) lost.set(projectId, own);
  }
  return lost;
}

async function findDiffering(
  clickhouse: ClickHouse,
  window: Parameters<typeof findDifferingTraces>[1],
): Promise<Map<string, string[]>> {
  const byProject = new Map<string, string[]>();
  for (const { projectId, traceId } of await findDifferingTraces(clickhouse, window)) {
    byProject.set(projectId, [...(byProject.get(projectId) ?? []), traceId]);
  }
  return byProject;
}
