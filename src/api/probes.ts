import type { DependencyName } from '../domains/operations/index.ts';
import type { LaneName } from '../http/contract.ts';
import { originOf } from '../lib/errors.ts';
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
    postgres: createProbe({ check: () => findConcern(postgres) }),
    clickhouse: createProbe({
      check: (signal) =>
        readRows(clickhouse, { query: 'SELECT 1', format: 'JSONCompactEachRow', abort_signal: signal }),
    }),
    redis: createProbe({ check: async () => redis.ping() }),
    queue: createProbe({ check: checkQueue }),
  };
}

/**
 * Resolves to the problem of a database that answers, and stores nothing (a replica, or one that its provider protects) or
 * cannot be read: of another layout, or without the rights.
 */
async function findConcern(postgres: Postgres): Promise<Concern | undefined> {
  try {
    const { rows } = await postgres.raw<{ rows: { read_only: string }[] }>(
      `select current_setting('transaction_read_only') as read_only, (select 1 from api_keys limit 1)`,
    );
    const isReadOnly = rows[0]?.read_only === 'on';
    return isReadOnly ? new Concern('degraded', 'stores no changes: Postgres is read-only') : undefined;
  } catch (error) {
    const reason = unreadable[codeOf(error)];
    if (reason === undefined) throw error;
    return new Concern('down', `cannot authenticate: ${reason}`);
  }
}

/** Postgres error codes of a database that this service cannot use (postgresql.org/docs, appendix A). */
const unreadable: Readonly<Record<string, string>> = {
  '42P01': 'Postgres has no tables of this service; run the migrations',
  '42501': 'Postgres refuses this user its tables',
};

function codeOf(error: unknown): string {
  const said = originOf(error);
  return said instanceof Error && 'code' in said ? String(said.code) : '';
}

/**
 * Returns the error for requests of a lane whose database does not answer now; undefined while it
 * answers.
 */
export function whyStuck(probes: Readonly<Record<DependencyName, Probe>>, lane: LaneName): Error | undefined {
  if (lane === 'analysis') return probes.clickhouse.isSilent ? clickHouseAway() : undefined;
  return probes.postgres.isSilent ? postgresAway() : undefined;
}
