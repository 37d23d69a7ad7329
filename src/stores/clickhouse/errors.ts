import { ClickHouseError } from '@clickhouse/client';
import { type AppError, TooLargeError, UnavailableError } from '../../lib/errors.ts';

/**
 * Server errors after which the same statement may succeed (ErrorCodes.cpp): timeouts 159 209, too many queries or parts
 * 202 252, socket and network 210 319 , memory 241, table is read-only or dropped under us 242 60, Keeper 999, unknown
 * status of insert 319, aborted 236 (server shutting down), cannot schedule 439, disk full 243.
 */
const retryableCodes = new Set([
  '60',
  '81',
  '159',
  '202',
  '209',
  '210',
  '236',
  '241',
  '242',
  '243',
  '252',
  '319',
  '439',
  '999',
]);

/** Whether trying the same request again can help. Whatever is not an answer of the server is trouble on the way to it. */
export function isRetryableClickHouseError(error: unknown): boolean {
  return !(error instanceof ClickHouseError) || retryableCodes.has(error.code);
}

/** What an answer of the server means to the caller of a read: the bounds of the client's settings (ErrorCodes.cpp). */
const boundErrors: Readonly<Record<string, (cause: ClickHouseError) => AppError>> = {
  // TIMEOUT_EXCEEDED
  '159': (cause) =>
    new UnavailableError('query_timeout', 'The query took too long; ask for a shorter window or fewer filters.', {
      cause,
    }),
  // TOO_MANY_ROWS
  '158': (cause) =>
    new TooLargeError('query_too_large', 'The query would read too much; ask for a shorter window.', { cause }),
  // TOO_MANY_ROWS_OR_BYTES
  '396': (cause) =>
    new TooLargeError('result_too_large', 'The answer would be too large; ask for less of it.', { cause }),
};

/** Whether the engine itself answered with the error, rather than the connection to it. */
export function isServerAnswer(error: unknown): boolean {
  return error instanceof ClickHouseError;
}

/**
 * Runs a ClickHouse read; an engine that is away becomes `UnavailableError`, a bound that is hit says which, anything else passes
 * unchanged.
 */
export async function runClickHouse<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const bound = error instanceof ClickHouseError ? boundErrors[error.code] : undefined;
    if (error instanceof ClickHouseError && bound !== undefined) throw bound(error);
    if (isRetryableClickHouseError(error)) {
      throw new UnavailableError('clickhouse_unavailable', 'The trace store cannot be reached right now.', {
        cause: error,
      });
    }
    throw error;
  }
}
