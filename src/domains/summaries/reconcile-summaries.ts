import type { Queue } from 'bullmq';
import { countSummaries, listForSummary, withoutPlace } from '../../queue/summary-list.ts';
import { unfinishedReceiptAtMs } from '../../queue/unfinished-receipt.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Redis } from '../../stores/redis/client.ts';
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
/** What was received just now may be on its way. */
const settledMs = 5_000;
/** Looked at in every run: where a loss would be new. */
const recentMs = 10 * minuteMs;
/** Looked at again and again in slices, as far as time allows. */
const lookBackMs = 30 * 24 * 60 * minuteMs;
/** A slice grows while slices are quick, because there is little in them, and shrinks when one is not. */
const slice = { firstMs: 60 * minuteMs, minMs: 5 * minuteMs, maxMs: 24 * 60 * minuteMs, quickMs: 300, slowMs: 1_000 };
/** A run begins no further slice after this. */
const runMsMax = 5_000;
/** Of one slice; what differs beyond is found by the next run. */
const tracesMax = 10_000;
/** Up to where older spans have been looked at, by all workers. No tenant's data, so the key has no tenant. */
const sweptKey = 'promptlane:summaries-swept-ms';

/**
 * Proves spans against executions: traces whose execution is missing or short are put on the list of summaries and counted as mended,
 * which is 0 as long as nothing is lost. Every run looks at the last ten minutes, and goes on through the last thirty days.
 */
export async function reconcileSummaries(deps: ReconcileSummariesDeps, { nowMs }: { nowMs: number }): Promise<void> {
  const unfinishedAtMs = await unfinishedReceiptAtMs(deps.redis, [...deps.ingest, deps.isolation]);
  if (unfinishedAtMs === undefined) return; // The workers are far behind; the next run may tell.
  const endMs = Math.min(nowMs - settledMs, unfinishedAtMs);
  const startedAtMs = performance.now();
  await mend(deps, endMs - recentMs, endMs);
  const begin = endMs - lookBackMs;
  let at = Math.max(begin, Number((await deps.redis.get(sweptKey)) ?? begin));
  let sliceMs = slice.firstMs;
  while (at < endMs - recentMs && performance.now() - startedAtMs < runMsMax) {
    const tookMs = await mend(deps, at, Math.min(at + sliceMs, endMs));
    at += sliceMs;
    if (tookMs < slice.quickMs) sliceMs = Math.min(2 * sliceMs, slice.maxMs);
    else if (tookMs > slice.slowMs) sliceMs = Math.max(sliceMs / 2, slice.minMs);
  }
  await deps.redis.set(sweptKey, at < endMs - recentMs ? at : begin);
}

/** Resolves to how long it took, in milliseconds. */
async function mend(deps: ReconcileSummariesDeps, fromMs: number, toMs: number): Promise<number> {
  const startedAtMs = performance.now();
  const byProject = await findLost(deps, { fromMs, toMs, tracesMax });
  const workspaces = await findProjectWorkspaces(deps.postgres, [...byProject.keys()]);
  for (const [projectId, traceIds] of byProject) {
    const workspaceId = workspaces.get(projectId);
    if (workspaceId === undefined) continue; // The project is gone.
    const added = await listForSummary(deps.redis, { workspaceId, projectId }, traceIds);
    await countSummaries(deps.redis, 'mended', added);
    if (added > 0) deps.logger.warn({ project_id: projectId, traces: added }, 'executions differ from their spans');
  }
  return performance.now() - startedAtMs;
}

/**
 * Traces that differ, by project. One that is on the list, or was while it was looked for, is not lost: it has to differ once more after
 * it was seen to have no place there.
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
