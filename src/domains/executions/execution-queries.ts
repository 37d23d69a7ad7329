import { mapInSlices } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { type Execution, readSummary } from '../summaries/index.ts';
import { fillCutSummaries, shownSummary } from './cut-summary-queries.ts';
import { type ListQuery, newestFirst } from './execution-place-queries.ts';
import { BoundParameters } from './filters/bound-parameters.ts';
import { compileCondition, isOneOfTraces } from './filters/compile-condition.ts';
import { asksNothing } from './filters/condition.ts';
import { listSettings } from './list-settings.ts';

/**
 * Returns the executions of these traces by trace id.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findExecutions(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
): Promise<Map<string, Execution>> {
  const parameters = new BoundParameters();
  const traces = `project_id = ${parameters.bind('String', projectId)} AND ${isOneOfTraces(traceIds, parameters)}`;
  // ORDER BY and LIMIT BY select the newest row of each trace. FINAL would also read the summaries
  // of neighboring rows.
  const query = `SELECT lower(hex(trace_id)) AS traceId, ${shownSummary} AS shown FROM executions PREWHERE ${traces} ORDER BY ${newestFirst} LIMIT 1 BY trace_id`;
  const rows = await rowsFor<{ traceId: string; shown: string }>(clickhouse, query, traceIds, parameters);
  const summaries = rows.map(({ traceId, shown }) => ({ traceId, summary: shown }));
  const filled = await fillCutSummaries(clickhouse, projectId, summaries);
  return new Map(await mapInSlices(filled, ({ traceId, summary }) => [traceId, readSummary(summary)] as const));
}

/** Returns which of these traces satisfy the list's condition, judged by their current spans. */
export async function findSatisfying(
  clickhouse: ClickHouse,
  { projectId, condition }: ListQuery,
  traceIds: readonly string[],
): Promise<Set<string>> {
  if (asksNothing(condition)) return new Set(traceIds);
  const parameters = new BoundParameters();
  const spans = { mode: 'exact', traceIds } as const;
  const query = `SELECT lower(hex(trace_id)) AS traceId FROM executions FINAL
                 WHERE project_id = ${parameters.bind('String', projectId)} AND ${isOneOfTraces(traceIds, parameters)}
                   AND ${compileCondition(condition, { parameters, projectId, spans })}`;
  const rows = await rowsFor<{ traceId: string }>(clickhouse, query, traceIds, parameters);
  return new Set(rows.map(({ traceId }) => traceId));
}

async function rowsFor<Row>(
  clickhouse: ClickHouse,
  query: string,
  traceIds: readonly string[],
  parameters: BoundParameters,
): Promise<Row[]> {
  if (traceIds.length === 0) return [];
  return readRows<Row>(clickhouse, {
    query,
    query_params: parameters.values,
    clickhouse_settings: listSettings,
    format: 'JSONEachRow',
  });
}
