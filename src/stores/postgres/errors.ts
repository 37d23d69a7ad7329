import { StatementTooSlowError, UnavailableError } from '../../lib/errors.ts';
import { isNetworkCode } from '../../lib/network-codes.ts';

/**
 * SQLSTATEs of a database that cannot serve: it is away or full, or it does not let the service in. PgBouncer reports
 * with 08P01 that it has no connection; Postgres itself, that a statement has too many bindings. 25P03 is a transaction
 * that got no statement for too long, after which the connection is closed.
 */
const unavailableStates = new Set([
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
  '08007',
  '08P01',
  '25P03',
  '28000', // pg_hba.conf has no entry for the service, or its user may not log in.
  '28P01', // The user has another password.
  '3D000', // The database does not exist, such as during a restore.
  '53100',
  '53200',
  '53300',
  '57P01',
  '57P02',
  '57P03',
  '57P04', // The database was dropped.
  '57P05', // The connection was idle for too long.
  '58000', // The system under Postgres failed.
  '58030', // Its disk failed.
]);
const unavailableMessages =
  /Connection terminated|timeout expired|Client has encountered a connection error|connect timeout/;

/**
 * What Postgres refuses although it answers, by SQLSTATE: query_canceled, configuration_limit_exceeded (such as
 * `temp_file_limit`), lock_not_available, read_only_sql_transaction (after a failover, or while a provider protects a
 * disk that is almost full).
 */
const refused: Readonly<Record<string, (cause: unknown) => UnavailableError>> = {
  '57014': (cause) =>
    new StatementTooSlowError(
      'query_timeout',
      'A statement of the request exceeded the time limit of the database. Try again later, or request less data.',
      { cause, retryAfterS: 5 },
    ),
  '53400': (cause) =>
    new StatementTooSlowError(
      'postgres_unavailable',
      'A statement of the request exceeded a limit of the database. Try again later, or request less data.',
      { cause, retryAfterS: 5 },
    ),
  '55P03': (cause) =>
    new UnavailableError(
      'query_timeout',
      'Another change of the same data, such as an import, has not ended. Nothing was changed. Try again.',
      { cause, retryAfterS: 5 },
    ),
  '25006': (cause) =>
    new UnavailableError(
      'postgres_unavailable',
      'The database is read-only at the moment. Nothing was changed. Try again later.',
      { cause, retryAfterS: 5 },
    ),
};

/**
 * Converts an error to UnavailableError if the database is unavailable or has refused the statement for now. Returns
 * any other error unchanged. Only our dialect of knex calls this, so that no caller can forget it.
 */
export function recognizePostgresError(error: unknown): unknown {
  const ofRefused = refused[codeOf(error)];
  if (ofRefused !== undefined) return ofRefused(error);
  return isUnavailable(error) ? postgresAway(error) : error;
}

/** Returns the error for a caller while Postgres is unavailable. */
export function postgresAway(cause?: unknown): UnavailableError {
  return new UnavailableError('postgres_unavailable', 'The database cannot be reached at the moment.', { cause });
}

/** Tells whether Postgres has ended the connection with this error, or it had ended before. */
export function isFatal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('severity' in error && error.severity === 'FATAL') || error.message.includes(notSent);
}

/** The driver says so of a statement on a connection that has ended. */
const notSent = 'is not queryable';

/**
 * Tells whether a COMMIT that failed with this error was certainly rolled back: the transaction got no statement for
 * too long before, or the statement was never sent.
 */
export function isRolledBack({ cause }: UnavailableError): boolean {
  return codeOf(cause) === '25P03' || (cause instanceof Error && cause.message.includes(notSent));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || error.message.startsWith('bind message')) return false;
  const code = codeOf(error);
  if (unavailableStates.has(code) || isNetworkCode(code)) return true;
  return error.name === 'KnexTimeoutError' || unavailableMessages.test(error.message);
}
