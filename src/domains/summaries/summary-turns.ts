import type { LogProjects } from '../../queue/log-projects.ts';
import {
  endSummary,
  failSummary,
  leaseSummaries,
  listForSummary,
  releaseSummaries,
  renewSummaries,
  type SummaryLease,
  type SummaryProject,
} from '../../queue/summary-list.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readEngineClock } from '../../stores/clickhouse/statements.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { loadLogRecords } from '../log-records/index.ts';
import { countTraceRows } from '../spans/index.ts';
import { insertExecutions } from './execution-row.ts';
import { groupByRows } from './group-traces.ts';
import { smallTraceRowsMax, summarizeSmallTraces } from './summarize-stored-traces.ts';
import type { SummarizedInThread, SummaryTask } from './summary-thread.ts';

/** Traces of one project that are leased at a time. */
const tracesPerLease = 200;
/** After this time a turn begins no further trace. */
const turnMsMax = 1_000;
/** Well within the 15 s of a lease. */
const renewEveryMs = 4_000;
/** Traces that were not worked on become due again after this time. */
const releaseMs = 500;
/**
 * Milliseconds of rest per millisecond of work. So a large, growing trace is read for a sixth of
 * the time, however often spans arrive. Its summary is at most 10 s behind.
 */
const restPerMs = 5;
const restMsMax = 10_000;
const logEveryMs = 60_000;
/** After this time of a turn, the rest of the traces of a project with log records is left for later. */
const joinMsMax = 500;

export interface SummaryTurnsDeps {
  clickhouse: ClickHouse;
  redis: Redis;
  logProjects: LogProjects;
  logger: Logger;
}

/**
 * Whether a turn begins no further trace. While nothing of a lease is `done`, time alone does not end it: otherwise
 * turn after turn could end without a summary.
 */
type IsOver = (done?: number) => boolean;

/** The work of a workspace's turn. Remembers when it last logged a failure. */
export class SummaryTurns {
  readonly #deps: SummaryTurnsDeps;
  readonly #runInThread: (task: SummaryTask) => Promise<SummarizedInThread>;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SummaryTurnsDeps, runInThread: (task: SummaryTask) => Promise<SummarizedInThread>) {
    this.#deps = deps;
    this.#runInThread = runInThread;
  }

  /**
   * Summarizes the traces of a workspace's projects that are due, for about one second. It begins with any project,
   * because one may have enough for each turn.
   * @throws the error of Redis
   */
  async take(projects: readonly SummaryProject[], stopping: AbortSignal): Promise<void> {
    const endMs = performance.now() + turnMsMax;
    const isOver: IsOver = (done = 1) => stopping.aborted || (done > 0 && performance.now() > endMs);
    const from = Math.floor(Math.random() * projects.length);
    let open = [...projects.slice(from), ...projects.slice(0, from)];
    while (open.length > 0) {
      const more: SummaryProject[] = [];
      for (const project of open) {
        if (isOver()) return;
        const lease = await leaseSummaries(this.#deps.redis, project, tracesPerLease);
        const isDone = await this.#workOff(lease, isOver);
        if (isDone && lease.traceIds.length === tracesPerLease) more.push(project);
      }
      open = more;
    }
  }

  /**
   * Works on one lease. Resolves to whether no trace is left.
   * @throws the error of Redis
   */
  async #workOff(lease: SummaryLease, isOver: IsOver): Promise<boolean> {
    const left = new Set(lease.traceIds);
    if (left.size === 0) return true;
    const { redis } = this.#deps;
    let aloneMs = 0;
    const renewal = setInterval(() => {
      // A failed renewal is ignored: a second worker on the same traces does no harm.
      renewSummaries(redis, lease, [...left]).catch(() => undefined);
    }, renewEveryMs);
    try {
      const hasLogs = (await this.#deps.logProjects.among([lease.projectId])).size > 0;
      await this.#summarizeSmall(lease, left, { hasLogs, isOver });
      for (const traceId of left) {
        if (isOver(lease.traceIds.length - left.size)) break;
        aloneMs += await this.#summarizeAlone(lease, traceId, hasLogs);
        left.delete(traceId);
        // Joining reads records again and again. The other traces are due after a rest that holds no turn.
        if (hasLogs && aloneMs > joinMsMax) break;
      }
    } catch (error) {
      this.#log(error, lease);
    } finally {
      clearInterval(renewal);
    }
    await releaseSummaries(redis, lease, [...left], releaseMs);
    return left.size === 0;
  }

  /**
   * Summarizes small traces in small groups and removes them from `left`. A group that fails stays,
   * so that each of its traces is tried alone. So does a trace with many log records to join. The
   * groups that have not begun when the turn is over stay as well; the first one always begins.
   */
  async #summarizeSmall(
    lease: SummaryLease,
    left: Set<string>,
    { hasLogs, isOver }: { hasLogs: boolean; isOver: IsOver },
  ): Promise<void> {
    const { clickhouse, redis } = this.#deps;
    const { projectId } = lease;
    const unjoined = hasLogs ? await this.#joinSmall(lease) : new Set<string>();
    const version = await readEngineClock(clickhouse);
    const rows = await countTraceRows(clickhouse, projectId, lease.traceIds);
    const small = lease.traceIds
      .map((id) => [id, rows.get(id) ?? 0] as const)
      .filter(([id, n]) => n <= smallTraceRowsMax && !unjoined.has(id));
    for (const [index, traceIds] of groupByRows(new Map(small)).entries()) {
      if (isOver(index)) return;
      try {
        const executions = await summarizeSmallTraces(clickhouse, { projectId, traceIds, version });
        await insertExecutions(clickhouse, executions);
      } catch (error) {
        this.#log(error, lease);
        continue;
      }
      await Promise.all(traceIds.map((traceId) => endSummary(redis, lease, traceId, 0)));
      for (const traceId of traceIds) left.delete(traceId);
    }
  }

  /** Joins the log records of the traces. Returns the traces that must be joined alone. */
  async #joinSmall(lease: SummaryLease): Promise<ReadonlySet<string>> {
    try {
      const { joinHere, joinRecords } = await loadLogRecords();
      const { large, later } = await joinRecords(this.#deps.clickhouse, lease, joinHere);
      return new Set([...large, ...later]);
    } catch (error) {
      this.#log(error, lease);
      return new Set(lease.traceIds);
    }
  }

  async #summarizeAlone(lease: SummaryLease, traceId: string, hasLogs: boolean): Promise<number> {
    const { redis } = this.#deps;
    try {
      const { tookMs, isLeft, joined } = await this.#runInThread({ projectId: lease.projectId, traceId, hasLogs });
      const restMs = Math.min(tookMs * restPerMs, restMsMax);
      // A join that comes no further is tried again after a pause that grows.
      if (isLeft && joined === 0) {
        await failSummary(redis, lease, traceId);
        return tookMs;
      }
      // A leased trace that is added again becomes due after its rest.
      if (isLeft) await listForSummary(redis, lease, [traceId]);
      await endSummary(redis, lease, traceId, restMs);
      return tookMs;
    } catch (error) {
      this.#log(error, lease);
      await failSummary(redis, lease, traceId);
      return 0;
    }
  }

  #log(error: unknown, { projectId }: SummaryLease): void {
    if (performance.now() - this.#loggedAtMs < logEveryMs) return;
    this.#loggedAtMs = performance.now();
    this.#deps.logger.error({ err: error, project_id: projectId }, 'an execution could not be summarized');
  }
}
