import { workerData } from 'node:worker_threads';
import { lowerThreadPriority } from '../../runtime/low-priority.ts';
import { connectClickHouse } from '../../stores/clickhouse/client.ts';
import { insertExecutions } from './execution-row.ts';
import { summariseStoredTrace } from './summarise-stored-traces.ts';

export interface SummaryTask {
  projectId: string;
  traceId: string;
}

/** A client of the thread's own, with a time-out above that of the largest read. */
const requestTimeoutMs = 90_000;
const clickhouse = connectClickHouse(workerData.clickhouseUrl, requestTimeoutMs);

/** What the thread runs: reads one trace, sums it up and stores its execution; answers how long that took, in milliseconds. */
export async function summariseInThread({ projectId, traceId }: SummaryTask): Promise<number> {
  lowerThreadPriority();
  const startedAtMs = performance.now();
  const execution = await summariseStoredTrace(clickhouse, projectId, traceId);
  if (execution !== undefined) await insertExecutions(clickhouse, [execution]);
  return performance.now() - startedAtMs;
}
