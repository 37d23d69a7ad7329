import type { Postgres } from '../../stores/postgres/client.ts';

/** More pending deliveries are not counted. */
const countedMax = 100_000;

/** Returns the number of pending deliveries, up to 100,000, and the age of the oldest in seconds. */
export async function readPending(postgres: Postgres, windowMs: number): Promise<{ count: number; oldestS: number }> {
  const { rows } = await postgres.raw<{ rows: { count: number; left_ms: string | null }[] }>(
    `select
       (select count(*)::int from (select 1 from webhook_deliveries where status = 'pending' limit ${countedMax}) as some_pending) as count,
       (select extract(epoch from min(expires_at) - now()) * 1000 from webhook_deliveries where status = 'pending') as left_ms`,
  );
  const [row] = rows;
  const oldestMs = row?.left_ms == null ? 0 : windowMs - Number(row.left_ms);
  return { count: row?.count ?? 0, oldestS: Math.max(0, oldestMs / 1_000) };
}
