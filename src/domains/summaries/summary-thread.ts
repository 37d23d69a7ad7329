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

/**
 * Runs in the thread: reads one trace, summarizes it and stores its execution.
 * @returns the milliseconds that took
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function summarizeInThread({ projectId, traceId, hasLogs }: SummaryTask): Promise<number> {
  lowerThreadPriority();
  const startedAtMs = performance.now();
  if (hasLogs) await joinRecords(clickhouse, { projectId, traceIds: [traceId] }, joinInThread);
  const execution = await summarizeStoredTrace(clickhouse, projectId, traceId);
  if (execution !== undefined) await insertExecutions(clickhouse, [execution]);
  return performance.now() - startedAtMs;
}
