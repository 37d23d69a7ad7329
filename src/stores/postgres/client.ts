import knex, { type Knex } from 'knex';

export type Postgres = Knex;

/** A pool on the given database. Waiting for a connection ends after 2 s, a statement after 10 s. */
export function connectPostgres(databaseUrl: string, poolMax = 10): Postgres {
  return knex({
    client: 'pg',
    // Otherwise knex writes bound values into error messages.
    compileSqlOnError: false,
    // What fails is thrown; knex would print it on standard output as well, past our logger.
    log: { warn: () => undefined, error: () => undefined },
    connection: {
      connectionString: databaseUrl,
      application_name: 'promptlane',
      statement_timeout: 10_000,
      connectionTimeoutMillis: 2_000,
    },
    pool: { min: 0, max: poolMax },
    acquireConnectionTimeout: 2_000,
  });
}
