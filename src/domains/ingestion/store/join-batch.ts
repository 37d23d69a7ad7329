import { countLogs } from '../../../queue/log-counts.ts';
import { listForSummary } from '../../../queue/summary-list.ts';
import { findUnjoined } from '../../log-records/reads.ts';
import type { BatchEntry } from './span-batcher.ts';
import type { SummarizeBatchDeps } from './summarize-batch.ts';
import { tracesOfBatch } from './traces-of-batch.ts';

/**
 * Puts the traces on the list of summaries whose spans are stored and lack log records of the
 * batch, which are confirmed. There they are joined and summarized. Records without a stored span
 * wait: the worker that stores the span looks for them.
 * @throws the error of Redis or ClickHouse; the jobs are then tried again
 */
export async function joinBatch(deps: SummarizeBatchDeps, entries: readonly BatchEntry[]): Promise<void> {
  let waiting = 0;
  for (const project of tracesOfBatch(entries)) {
    const unjoined = await findUnjoined(deps.clickhouse, project.projectId, [...project.traces.keys()]);
    const traceIds = new Set(unjoined.map(({ traceId }) => traceId));
    if (traceIds.size > 0) await listForSummary(deps.redis, project, [...traceIds]);
    waiting += project.rows;
    for (const traceId of traceIds) waiting -= project.traces.get(traceId)?.rows ?? 0;
  }
  await countLogs(deps.redis, { waiting });
}
