import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';

/** Executions of one project. */
export interface OutdatedExecutions {
  projectId: string;
  /** In order. */
  traceIds: string[];
}

const executionsPerPage = 1_000;

/**
 * Yields the executions, of one project or of all, that were computed from a span of a normalizer
 * version below `belowVersion`, at most 1,000 at a time, in the order of their ids.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function* findOutdatedExecutions(
  clickhouse: ClickHouse,
  { projectId, belowVersion }: { projectId: string | undefined; belowVersion: number },
): AsyncGenerator<OutdatedExecutions> {
  const ofProject = projectId === undefined ? '' : 'project_id = {projectId:String} AND';
  let after = { afterProject: '', afterTrace: '0'.repeat(32) };
  for (let found = executionsPerPage; found === executionsPerPage; ) {
    const page = await readRows<OutdatedExecutions>(clickhouse, {
      query: `SELECT project_id AS projectId, arraySort(groupArray(lower(hex(trace_id)))) AS traceIds
              FROM (SELECT project_id, trace_id FROM executions FINAL
                    WHERE ${ofProject} (project_id, trace_id) > ({afterProject:String}, toFixedString(unhex({afterTrace:String}), 16))
                      AND normalizer_version < {belowVersion:UInt32}
                    ORDER BY project_id, trace_id LIMIT ${executionsPerPage})
              GROUP BY project_id ORDER BY project_id`,
      query_params: { projectId: projectId ?? '', belowVersion, ...after },
      clickhouse_settings: { max_execution_time: 600 },
      format: 'JSONEachRow',
    });
    found = 0;
    for (const executions of page) {
      found += executions.traceIds.length;
      after = { afterProject: executions.projectId, afterTrace: executions.traceIds.at(-1) ?? '' };
      yield executions;
    }
  }
}
