import type { ProjectId } from '../../lib/ids.ts';
import { mapInSlices } from '../../lib/pace.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Row } from '../prompt-search/index.ts';

/** Rows of one INSERT. */
const rowsPerInsert = 50;

/** A row of a run, and where it comes from. */
export interface StoredRow extends Row {
  source: 'inline' | 'execution';
}

interface Columns {
  row_key: string;
  split: Row['split'];
  inputs: Row['inputs'];
  expected: string | null;
  source: StoredRow['source'];
  weight: number;
  note: string | null;
}

/** Stores the rows of a run: its own copy, which never changes. */
export async function insertRows(
  transaction: Postgres,
  { projectId, runId }: { projectId: ProjectId; runId: string },
  rows: readonly StoredRow[],
): Promise<void> {
  const values = await mapInSlices(rows, (row, position) => ({
    project_id: projectId,
    run_id: runId,
    position,
    row_key: row.key,
    split: row.split,
    inputs: JSON.stringify(row.inputs),
    expected: row.expected === undefined ? null : JSON.stringify(row.expected),
    source: row.source,
    weight: row.weight,
    note: row.note ?? null,
  }));
  for (let start = 0; start < values.length; start += rowsPerInsert) {
    await transaction('optimization_rows').insert(values.slice(start, start + rowsPerInsert));
  }
}

/** Reads the rows of a run in their order. */
export async function listRows(
  postgres: Postgres,
  { projectId, id }: { projectId: ProjectId; id: string },
): Promise<StoredRow[]> {
  const rows = await postgres('optimization_rows')
    .where({ project_id: projectId, run_id: id })
    .orderBy('position')
    .select<Columns[]>(
      ...['row_key', 'split', 'inputs', postgres.raw('expected::text as expected'), 'source', 'weight', 'note'],
    );
  return mapInSlices(rows, ({ row_key, expected, note, ...row }) => ({
    ...row,
    key: row_key,
    ...(expected === null ? {} : { expected: JSON.parse(expected) as unknown }),
    ...(note === null ? {} : { note }),
  }));
}
