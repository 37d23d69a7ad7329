import { randomInt } from 'node:crypto';
import type { Queue } from 'bullmq';
import { originOf } from '../../lib/errors.ts';
import { countSummaries } from '../../queue/summary-counts.ts';
import { listForSummary, recountSummaries, withoutPlace } from '../../queue/summary-list.ts';
import { examineUnfinished, type UnfinishedBodies } from '../../queue/unfinished-receipt.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { isDoubtfulError, isRetryableClickHouseError, isServerAnswer } from '../../stores/clickhouse/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { summariesSliceKey, summariesSweptKey } from '../../stores/redis/names.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { findProjectWorkspaces } from '../workspaces/index.ts';
import { type DifferingTrace, findDifferingTraces } from './differing-trace-queries.ts';

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
 * A slice doubles while checks are quick, because it contains little. It halves when one is slow or
 * too much for a query. A run begins with `firstMs` at most.
 */
const slice = { firstMs: 60 * minuteMs, minMs: 5 * minuteMs, maxMs: 24 * 60 * minuteMs, quickMs: 300, slowMs: 1_000 };
/** A run begins no further slice after this time. */
const runMsMax = 5_000;
/** Traces of one slice. The next run finds the others. */
const tracesMax = 10_000;

/**
 * Compares spans with executions. Traces whose execution is missing or incomplete are put on the
 * list of summaries and counted as mended: 0 as long as nothing is lost. Every run checks the last
 * ten minutes, then continues through the last thirty days. Spans that were received since the
 * oldest unfinished body of their workspace may still be on their way to a summary.
 * @throws UnavailableError while a store is unavailable; the next run continues at the same place
 */
export async function reconcileSummaries(deps: ReconcileSummariesDeps, { nowMs }: { nowMs: number }): Promise<void> {
  await recountSummaries(deps.redis);
  const unfinished = await examineUnfinished(deps.redis, [...deps.ingest, deps.isolation]);
  if (unfinished === undefined) return; // The workers are far behind; a later run can compare.
  const run = { ...deps, unfinished };
  const endMs = nowMs - quietMs;
  let recent: Place = { atMs: endMs - recentMs, sliceMs: recentMs };
  while (recent.atMs < endMs) recent = await mendSlice(run, recent, endMs);
  await sweep(run, endMs);
}

interface Run extends ReconcileSummariesDeps {
  unfinished: UnfinishedBodies;
}

/** Where the next slice begins, and how long it is. */
interface Place {
  atMs: number;
  sliceMs: number;
}

/** Continues through the last thirty days from the place where the previous run ended. */
async function sweep(deps: Run, endMs: number): Promise<void> {
  const [beginMs, untilMs] = [endMs - lookBackMs, endMs - recentMs];
  const startedAtMs = performance.now();
  let place = await readPlace(deps.redis, beginMs);
  while (place.atMs < untilMs && performance.now() - startedAtMs < runMsMax) {
    place = await mendSlice(deps, place, endMs);
    await storePlace(deps.redis, place);
  }
  if (place.atMs >= untilMs) await storePlace(deps.redis, { ...place, atMs: beginMs });
}

async function readPlace(redis: Redis, beginMs: number): Promise<Place> {
  const [sweptMs, sliceMs] = [await redis.get(summariesSweptKey), await redis.get(summariesSliceKey)];
  return {
    atMs: Math.max(beginMs, Number(sweptMs ?? beginMs)),
    sliceMs: Math.min(Number(sliceMs ?? slice.firstMs), slice.firstMs),
  };
}

async function storePlace(redis: Redis, { atMs, sliceMs }: Place): Promise<void> {
  await redis.set(summariesSliceKey, sliceMs);
  await redis.set(summariesSweptKey, atMs);
}

/**
 * Mends a slice, and returns the next one. If the slice is too much for one query, the next one is
 * its first half. The least slice is skipped; the sweep comes back to it after thirty days are done.
 */
async function mendSlice(deps: Run, { atMs, sliceMs }: Place, endMs: number): Promise<Place> {
  const toMs = Math.min(atMs + sliceMs, endMs);
  try {
    const tookMs = await mend(deps, atMs, toMs);
    return { atMs: toMs, sliceMs: sliceAfter(sliceMs, tookMs) };
  } catch (error) {
    if (!isOfQuery(error)) throw error;
    if (toMs - atMs > slice.minMs) return { atMs, sliceMs: halfOf(toMs - atMs) };
    deps.logger.warn(
      { err: originOf(error), from_ms: atMs, to_ms: toMs },
      'spans could not be compared with executions',
    );
    return { atMs: toMs, sliceMs };
  }
}

function sliceAfter(sliceMs: number, tookMs: number): number {
  if (tookMs < slice.quickMs) return Math.min(2 * sliceMs, slice.maxMs);
  return tookMs > slice.slowMs ? halfOf(sliceMs) : sliceMs;
}

const halfOf = (sliceMs: number) => Math.max(Math.ceil(sliceMs / 2), slice.minMs);

/** Returns whether ClickHouse is available, and its answer says that this query cannot be answered. */
function isOfQuery(error: unknown): boolean {
  const said = originOf(error);
  return isServerAnswer(said) && (isDoubtfulError(said) || !isRetryableClickHouseError(said));
}

/** Puts the lost traces of a time window on the list. Resolves to the milliseconds it took. */
async function mend(deps: Run, fromMs: number, toMs: number): Promise<number> {
  const startedAtMs = performance.now();
  for (const { workspaceId, projectId, traceIds } of await findLost(deps, {
    fromMs,
    toMs,
    tracesMax,
    seed: randomInt(2 ** 32),
  })) {
    const added = await listForSummary(deps.redis, { workspaceId, projectId }, traceIds);
    await countSummaries(deps.redis, 'mended', added);
    if (added > 0) deps.logger.warn({ project_id: projectId, traces: added }, 'executions differ from their spans');
  }
  return performance.now() - startedAtMs;
}

interface LostTraces {
  workspaceId: string;
  projectId: string;
  traceIds: string[];
}

/**
 * Returns the traces that differ, by project. A trace that is or was on the list meanwhile is not
 * lost: a lost trace must differ again after a check found no place for it on the list.
 */
async function findLost(
  { clickhouse, postgres, redis, unfinished }: Run,
  window: Parameters<typeof findDifferingTraces>[1],
): Promise<LostTraces[]> {
  const differing = await findDifferingTraces(clickhouse, window);
  const workspaces = await findProjectWorkspaces(postgres, [...new Set(differing.map(({ projectId }) => projectId))]);
  const oldest = await unfinished.oldestOf([...new Set(workspaces.values())]);
  const idsByProject = (traces: readonly DifferingTrace[]) => {
    const ids = new Map<string, string[]>();
    for (const { projectId, traceId, latestMs } of traces) {
      const unfinishedAtMs = oldest.get(workspaces.get(projectId) ?? '') ?? Infinity;
      if (latestMs < unfinishedAtMs) ids.set(projectId, [...(ids.get(projectId) ?? []), traceId]);
    }
    return ids;
  };
  const suspects: LostTraces[] = [];
  for (const [projectId, traceIds] of idsByProject(differing)) {
    const workspaceId = workspaces.get(projectId);
    if (workspaceId === undefined) continue; // The project was deleted.
    const absent = await withoutPlace(redis, projectId, traceIds);
    if (absent.length > 0) suspects.push({ workspaceId, projectId, traceIds: absent });
  }
  if (suspects.length === 0) return [];
  const again = idsByProject(await findDifferingTraces(clickhouse, window));
  return suspects.flatMap(({ traceIds, ...project }) => {
    const differingAgain = new Set(again.get(project.projectId));
    const own = traceIds.filter((traceId) => differingAgain.has(traceId));
    return own.length === 0 ? [] : [{ ...project, traceIds: own }];
  });
}
