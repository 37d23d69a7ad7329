import type { Postgres } from '../../../src/stores/postgres/client.ts';
import type { Tenants } from './tenants.ts';

/** Handlers do not write these columns: the use of a credential writes the first, and a worker the second. */
const ignoredColumns: readonly string[] = ['last_used_at', 'fanned_out_at'];

/**
 * Returns a statement that hashes all rows of the tenants in every table that names a workspace,
 * project, tenant or user. It includes new tables without a change.
 */
export async function createFingerprint(postgres: Postgres, tenants: Tenants): Promise<() => Promise<string>> {
  const places = [tenants.own, tenants.sibling, tenants.foreign];
  const workspaceIds = places.map(({ project }) => project.workspaceId);
  const columns = await postgres('information_schema.columns')
    .where({ table_schema: 'public' })
    .whereIn('column_name', ['workspace_id', 'project_id', 'tenant', 'user_id'])
    .select<{ table_name: string; column_name: string }[]>('table_name', 'column_name');
  const wanted = [
    ...columns.map(({ table_name: table, column_name: column }) => ({ table, column })),
    { table: 'workspaces', column: 'id' },
    { table: 'users', column: 'id' },
  ];
  const parts = wanted.map(
    ({ table, column }) =>
      `select '${table}' || (to_jsonb(t) - :ignored::text[])::text as row from "${table}" t where t."${column}" = any(:ids)`,
  );
  const sql = `select md5(coalesce(string_agg(row, '|' order by row), '')) as hash from (${parts.join(' union all ')}) rows`;
  return async () => {
    const [projects, members] = await Promise.all([
      postgres('projects').whereIn('workspace_id', workspaceIds).pluck<string[]>('id'),
      postgres('memberships').whereIn('workspace_id', workspaceIds).pluck<string[]>('user_id'),
    ]);
    const ids = [...workspaceIds, ...projects, ...members];
    const { rows } = await postgres.raw<{ rows: { hash: string }[] }>(sql, { ids, ignored: ignoredColumns });
    if (rows[0] === undefined) throw new Error('The query of the fingerprint returned no row');
    return rows[0].hash;
  };
}
