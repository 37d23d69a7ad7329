import { UnavailableError } from '../../lib/errors.ts';

/**
 * Connection failures: Node's `code`, and SQLSTATEs of the classes 08, 53 and 57. PgBouncer reports
 * with 08P01 that it has no connection; Postgres itself, that a statement has too many bindings.
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
  '53300',
  '57P01',
  '57P02',
  '57P03',
]);
const unavailableMessages =
  /Connection terminated|timeout expired|Client has encountered a connection error|connect timeout/;

/**
 * Converts an error to UnavailableError if the database is unavailable. Returns any other error
 * unchanged. Only our dialect of knex calls this, so that no caller can forget it.
 */
export function recognizePostgresError(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return postgresAway(error);
}

/** Returns the error for a caller while Postgres is unavailable. */
export function postgresAway(cause?: unknown): UnavailableError {
  return new UnavailableError('postgres_unavailable', 'The database cannot be reached at the moment.', { cause });
}

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || error.message.startsWith('bind message')) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return unavailableCodes.has(code) || error.name === 'KnexTimeoutError' || unavailableMessages.test(error.message);
}
