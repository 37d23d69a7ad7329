import PostgresDialect from 'knex/lib/dialects/postgres/index.js';
import { isFatal, recognizePostgresError } from './errors.ts';

/**
 * The Postgres of knex, but with errors for a caller. Knex sends everything through these two
 * methods, BEGIN and COMMIT as well: a transaction gets its client from the same class.
 */
export class RecognizingDialect extends PostgresDialect {
  /** @throws UnavailableError when the database is unavailable or no connection becomes free */
  override async acquireConnection(): Promise<unknown> {
    try {
      return await super.acquireConnection();
    } catch (error) {
      throw recognizePostgresError(error);
    }
  }

  /** @throws UnavailableError when the database becomes unavailable; any other error unchanged */
  override async query(connection: unknown, statement: unknown): Promise<unknown> {
    try {
      return await super.query(connection, statement);
    } catch (error) {
      // Postgres answers with FATAL and then closes the connection. Until that is known, the pool would give it away.
      if (isFatal(error)) Object.assign(connection as object, { __knex__disposed: error });
      throw recognizePostgresError(error);
    }
  }
}
