import { StatementTooSlowError, UnavailableError } from '../../lib/errors.ts';

/**
 * Connection failures: Node's `code`, and SQLSTATEs of the classes 08, 53 and 57. PgBouncer reports
 * with 08P01 that it has no connection; Postgres itself, that a statement has too many bindings. 25P03 is a transaction
 * that got no statement for too long, after which the connection is closed.
 */
const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
  '08007',
  '08P01',
  '25P03',
  '53100',
  '53200',
  '53300',
  '57P01',
  '57P02',
  '57P03',
]);
const unavailableMessages =
  /Connection terminated|timeout expired|Client has encountered a connection error|connect timeout/;

/** Statements that Postgres has stopped, by SQLSTATE: query_canceled, lock_not_available. */
const stopped: Readonly<Record<string, (cause: unknown) => UnavailableError>> = {
  '57014': (cause) =>
    new StatementTooSlowError(
      'query_timeout',
      'A statement of the request exceeded the time limit of the database. Try again later, or request less data.',
      { cause, retryAfterS: 5 },
    ),
  '55P03': (cause) =>
    new UnavailableError(
      'query_timeout',
      'Another change of the same data, such as an import, has not ended. Nothing was changed. Try again.',
      { cause, retryAfterS: 5 },
    ),
};

/**
 * Converts an error to UnavailableError if the database is unavailable or has stopped the statement. Returns any other
 * error unchanged. Only our dialect of knex calls this, so that no caller can forget it.
 */
export function recognizePostgresError(error: unknown): unknown {
  const ofStopped = stopped[codeOf(error)];
  if (ofStopped !== undefined) return ofStopped(error);
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
  return (
    unavailableCodes.has(codeOf(error)) || error.name === 'KnexTimeoutError' || unavailableMessages.test(error.message)
  );
}
