import PostgresDialect from 'knex/lib/dialects/postgres/index.js';
import { recognizePostgresError } from './errors.ts';

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
      throw recognizePostgresError(error);
    }
  }
}
