import { UnavailableError } from '../../lib/errors.ts';

/** Connection failures by node's `code`, by SQLSTATE class 08 and 57P, and by knex's own name. */
const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  '53300',
  '57P01',
  '57P02',
  '57P03',
]);
const unavailableMessages =
  /Connection terminated|timeout expired|Client has encountered a connection error|connect timeout/;

/** Runs a Postgres call; a database that is away becomes `UnavailableError`, anything else passes unchanged. */
export async function runPostgres<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw recognisePostgresError(error);
  }
}

/** A database that is away as UnavailableError; anything else as it is. */
export function recognisePostgresError(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return postgresAway(error);
}

/** What a caller is told while the engine is away. */
export function postgresAway(cause?: unknown): UnavailableError {
  return new UnavailableError('postgres_unavailable', 'The database cannot be reached right now.', { cause });
}

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    unavailableCodes.has(code) ||
    code.startsWith('08') ||
    error.name === 'KnexTimeoutError' ||
    unavailableMessages.test(error.message)
  );
}
