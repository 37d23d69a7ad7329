import { LRUCache } from 'lru-cache';
import { oneTurn, Pace } from '../../../lib/pace.ts';
import type { LogProjects } from '../../../queue/log-projects.ts';
import { countSummaries } from '../../../queue/summary-counts.ts';
import { listForSummary } from '../../../queue/summary-list.ts';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import type { EncodedRows } from '../../../stores/clickhouse/native-table.ts';
import { readEngineClock } from '../../../stores/clickhouse/statements.ts';
import type { Redis } from '../../../stores/redis/client.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { type JoinTime, loadLogRecords } from '../../log-records/index.ts';
import { describeTraceRows, type LightSpan } from '../../spans/index.ts';
import {
  encodeExecutions,
  groupByRows,
  insertEncoded,
  type SummarizedExecution,
  smallTraceRowsMax,
  summarizeExecutions,
  summarizeSmallTraces,
} from '../../summaries/index.ts';
import type { BatchEntry } from './span-batcher.ts';
import { type ProjectOfBatch, spansAtHand, tracesOfBatch } from './traces-of-batch.ts';

export interface SummarizeBatchDeps {
  clickhouse: ClickHouse;
  redis: Redis;
  logProjects: LogProjects;
  logger: Logger;
}

/**
 * Rows that a batch may read from ClickHouse for one workspace while the next batch waits: 2,000,
 * plus four times the rows that it brought. A workspace that sends one span each for many traces so
 * reads little here; their summaries come from the list.
 */
const rowsReadMin = 2_000;
const rowsReadPerRow = 4;
/** Reads from ClickHouse by one batch for one project, about 20 ms each. */
const readsMax = 10;

/**
 * Traces of a project that are summarized before their summaries are encoded. With very many summaries in memory, garbage
 * collection would hold up the event loop.
 */
const summarizedAtOnce = 64;

/** Projects of one workspace that a batch summarizes, one after the other. Those of further ones are left for the list. */
const projectsMax = 20;

/**
 * Projects with at most this many rows in a batch are listed before the others are summarized, so
 * that they do not wait for the reads of a project that sends much.
 */
const fewRowsMax = 100;

/** The traces of a project: those summarized, and those left for the list. */
interface Outcome {
  project: ProjectOfBatch;
  /** Encoded already, because they are many. */
  encoded: EncodedRows[];
  executions: SummarizedExecution[];
  left: string[];
}

/**
 * Summarizes the traces of a batch whose spans are confirmed. When it resolves, each trace has its
 * execution or a durable place on the list of summaries. A trace whose spans are all in this batch
 * is summarized from memory; a small one is read from ClickHouse. Traces that are large, too many
 * at once, or fail go to the list. When several workers have spans of one trace, the last to insert
 * sees all spans and has the latest clock.
 * @throws the error of Redis, only when the list cannot be written
 */
export async function summarizeBatch(deps: SummarizeBatchDeps, entries: readonly BatchEntry[]): Promise<void> {
  const projects = await tracesOfBatch(entries);
  const few = projects.filter(({ rows }) => rows <= fewRowsMax);
  const many = projects.filter(({ rows }) => rows > fewRowsMax);
  const used: Used = { joinTime: new Map(), projects: new Map() };
  for (const group of [few, many]) {
    if (group.length === 0) continue;
    const outcomes = await summarizeProjects(deps, group, used);
    for (const outcome of await insertOutcomes(deps, outcomes)) {
      if (outcome.left.length === 0) continue;
      await listForSummary(deps.redis, outcome.project, outcome.left);
      await countSummaries(deps.redis, 'listed', outcome.left.length);
    }
  }
}

/** What workspaces have used of their shares in a batch. */
interface Used {
  joinTime: JoinTime;
  /** Number of projects. */
  projects: Map<string, number>;
}

async function summarizeProjects(
  deps: SummarizeBatchDeps,
  projects: readonly ProjectOfBatch[],
  { joinTime, projects: counts }: Used,
): Promise<Outcome[]> {
  const rowsLeft = new Map<string, number>();
  for (const { workspaceId, rows } of projects) {
    rowsLeft.set(workspaceId, (rowsLeft.get(workspaceId) ?? rowsReadMin) + rows * rowsReadPerRow);
  }
  const outcomes: Outcome[] = [];
  const withLogs = await deps.logProjects.among(projects.map(({ projectId }) => projectId));
  const clock = readEngineClock(deps.clickhouse);
  clock.catch(() => undefined); // Where all projects are left, nothing else handles its error.
  for (const project of projects) {
    const count = (counts.get(project.workspaceId) ?? 0) + 1;
    counts.set(project.workspaceId, count);
    if (count > projectsMax) {
      outcomes.push(left(project));
      continue;
    }
    try {
      const hasLogs = withLogs.has(project.projectId);
      outcomes.push(await summarizeProject(deps, project, { clock, rowsLeft, joinTime, hasLogs }));
    } catch (error) {
      outcomes.push(leftWhole(deps, project, error));
    }
  }
  return outcomes;
}

/**
 * Traces that had more rows than are summarized with their batch. Counting them again with each batch would read all
 * their rows. Shared by all workspaces, 20,000 traces.
 */
const largeTraces = new LRUCache<string, true>({ max: 20_000, ttl: 600_000 });

async function summarizeProject(
  deps: SummarizeBatchDeps,
  project: ProjectOfBatch,
  {
    clock,
    rowsLeft,
    joinTime,
    hasLogs,
  }: { clock: Promise<bigint>; rowsLeft: Map<string, number>; joinTime: JoinTime; hasLogs: boolean },
): Promise<Outcome> {
  const { projectId, workspaceId, traces } = project;
  // A trace that is large by this batch alone need not be counted.
  const counted = [...traces].flatMap(([traceId, { rows }]) =>
    rows > smallTraceRowsMax || largeTraces.has(`${projectId} ${traceId}`) ? [] : [traceId],
  );
  const isCounted = new Set(counted);
  const joining = hasLogs ? joinLate(deps, project, joinTime) : Promise.resolve([]);
  const describing = clock.then(async (version) => {
    return { version, stored: await describeTraceRows(deps.clickhouse, projectId, counted) };
  });
  const [left, { version, stored }] = await Promise.all([joining, describing]);
  const isLeft = new Set(left);
  const atHand: (readonly LightSpan[])[] = [];
  const small = new Map<string, number>();
  let budget = rowsLeft.get(workspaceId) ?? 0;
  const pace = new Pace(oneTurn);
  for (const [traceId, trace] of traces) {
    const resting = pace.rest();
    if (resting !== undefined) await resting;
    if (isLeft.has(traceId)) continue;
    const known = stored.get(traceId);
    const rows = isCounted.has(traceId) ? Math.max(trace.rows, known?.rows ?? 0) : Number.POSITIVE_INFINITY;
    if (rows > smallTraceRowsMax) largeTraces.set(`${projectId} ${traceId}`, true);
    // What is stored of a trace that was not counted is unknown.
    const spans = isCounted.has(traceId) ? spansAtHand(trace, known) : undefined;
    if (spans !== undefined) atHand.push(spans);
    else if (rows > Math.min(smallTraceRowsMax, budget)) left.push(traceId);
    else {
      small.set(traceId, rows);
      budget -= rows;
    }
  }
  rowsLeft.set(workspaceId, budget);
  const encoded: EncodedRows[] = [];
  let executions: SummarizedExecution[] = [];
  for (let at = 0; at < atHand.length; at += summarizedAtOnce) {
    if (executions.length > 0) encoded.push(...(await encodeExecutions(executions, pace)));
    executions = await summarizeExecutions(projectId, atHand.slice(at, at + summarizedAtOnce), version, pace);
  }
  const groups = groupByRows(small);
  // Pushed one by one: very many arguments of one call overflow the stack.
  for (const traceId of groups.slice(readsMax).flat()) left.push(traceId);
  for (const traceIds of groups.slice(0, readsMax)) {
    try {
      executions.push(...(await summarizeSmallTraces(deps.clickhouse, { projectId, traceIds, version })));
      if (executions.length < summarizedAtOnce) continue;
      encoded.push(...(await encodeExecutions(executions, pace)));
      executions = [];
    } catch (error) {
      deps.logger.warn({ err: error, project_id: projectId, traces: traceIds.length }, 'traces could not be read');
      left.push(...traceIds);
    }
  }
  return { project, encoded, executions, left };
}

/**
 * Joins the log records that arrived meanwhile, and returns the traces that had any. What is large is joined
 * when the trace is summarized from the list.
 */
async function joinLate(deps: SummarizeBatchDeps, project: ProjectOfBatch, time: JoinTime): Promise<string[]> {
  const { lacking, unseen } = await (await loadLogRecords()).joinAtOnce(
    deps,
    project,
    [...project.traces.keys()],
    time,
  );
  return lacking.concat(unseen);
}

/**
 * Inserts all in one block. If that fails, inserts project by project, so that one project does not
 * affect the others.
 */
async function insertOutcomes(deps: SummarizeBatchDeps, outcomes: readonly Outcome[]): Promise<readonly Outcome[]> {
  try {
    const last = await encodeExecutions(outcomes.flatMap(({ executions }) => executions));
    await insertEncoded(deps.clickhouse, [...outcomes.flatMap(({ encoded }) => encoded), ...last]);
    return outcomes;
  } catch (error) {
    const [only, ...others] = outcomes;
    if (only === undefined) return [];
    if (others.length === 0) {
      deps.logger.warn({ err: error, project_id: only.project.projectId }, 'executions could not be stored');
      return [left(only.project)];
    }
  }
  const inserted: Outcome[] = [];
  for (const outcome of outcomes) inserted.push(...(await insertOutcomes(deps, [outcome])));
  return inserted;
}

function leftWhole(deps: SummarizeBatchDeps, project: ProjectOfBatch, error: unknown): Outcome {
  deps.logger.warn({ err: error, project_id: project.projectId }, 'traces could not be summed up');
  return left(project);
}

function left(project: ProjectOfBatch): Outcome {
  return { project, encoded: [], executions: [], left: [...project.traces.keys()] };
}
