import { workerData } from 'node:worker_threads';
import { lowerThreadPriority } from '../../runtime/low-priority.ts';
import { connectClickHouse, lastSettings } from '../../stores/clickhouse/client.ts';
import { joinInThread, joinRecords } from '../log-records/reads.ts';
import { insertExecutions } from './execution-row.ts';
import { summarizeStoredTrace } from './summarize-stored-traces.ts';

export interface SummaryTask {
  projectId: string;
  traceId: string;
  /** Whether the project has log records, which are joined first. */
  hasLogs: boolean;
}

/** The thread has its own client, with a timeout above that of the largest read. */
const requestTimeoutMs = 90_000;
const clickhouse = connectClickHouse(workerData.clickhouseUrl, { requestTimeoutMs, settings: lastSettings });

export interface SummarizedInThread {
  tookMs: number;
  /** Whether some of its log records are not joined because that takes long. */
  isLeft: boolean;
  /** Spans that were joined with log records. */
  joined: number;
}

/**
 * Runs in the thread: reads one trace, summarizes it and stores its execution, also if its log records cannot be joined.
 * @throws UnavailableError while ClickHouse is unavailable
 * @throws the error of the join
 */
export async function summarizeInThread({ projectId, traceId, hasLogs }: SummaryTask): Promise<SummarizedInThread> {
  lowerThreadPriority();
  const startedAtMs = performance.now();
  const join = () => joinRecords(clickhouse, { projectId, traceIds: [traceId] }, joinInThread);
  const [joining] = await Promise.allSettled(hasLogs ? [join()] : []);
  const execution = await summarizeStoredTrace(clickhouse, projectId, traceId);
  if (execution !== undefined) await insertExecutions(clickhouse, [execution]);
  if (joining?.status === 'rejected') throw joining.reason;
  const left = joining?.value;
  const tookMs = performance.now() - startedAtMs;
  return { tookMs, isLeft: (left?.later.size ?? 0) > 0, joined: left?.joined ?? 0 };
}
