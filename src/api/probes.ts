import type { DependencyName } from '../domains/operations/index.ts';
import type { LaneName } from '../http/contract.ts';
import type { ClickHouse } from '../stores/clickhouse/client.ts';
import { clickHouseAway } from '../stores/clickhouse/errors.ts';
import { readRows } from '../stores/clickhouse/statements.ts';
import type { Postgres } from '../stores/postgres/client.ts';
import { postgresAway } from '../stores/postgres/errors.ts';
import type { Redis } from '../stores/redis/client.ts';
import { Concern, createProbe, type Probe } from '../telemetry/health.ts';

/** Creates the health probes of the API process. `checkQueue` may resolve to a `Concern`. */
export function createProbes(
  { postgres, clickhouse, redis }: { postgres: Postgres; clickhouse: ClickHouse; redis: Redis },
  checkQueue: () => Promise<unknown>,
): Record<DependencyName, Probe> {
  return {
    postgres: createProbe({ check: () => findReadOnly(postgres) }),
    clickhouse: createProbe({
      check: (signal) =>
        readRows(clickhouse, { query: 'SELECT 1', format: 'JSONCompactEachRow', abort_signal: signal }),
    }),
    redis: createProbe({ check: async () => redis.ping() }),
    queue: createProbe({ check: checkQueue }),
  };
}

/** Resolves to the problem of a database that answers and stores nothing: a replica, or one that its provider protects. */
async function findReadOnly(postgres: Postgres): Promise<Concern | undefined> {
  const { rows } = await postgres.raw<{ rows: { read_only: string }[] }>(
    `select current_setting('transaction_read_only') as read_only`,
  );
  return rows[0]?.read_only === 'on' ? new Concern('degraded', 'stores no changes: Postgres is read-only') : undefined;
}

/**
 * Returns the error for requests of a lane whose database does not answer now; undefined while it
 * answers.
 */
export function whyStuck(probes: Readonly<Record<DependencyName, Probe>>, lane: LaneName): Error | undefined {
  if (lane === 'analysis') return probes.clickhouse.isSilent ? clickHouseAway() : undefined;
  return probes.postgres.isSilent ? postgresAway() : undefined;
}
