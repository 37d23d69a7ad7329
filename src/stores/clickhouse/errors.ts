import { ClickHouseError } from '@clickhouse/client';
import { TooLargeError, UnavailableError } from '../../lib/errors.ts';

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

/** TOO_MANY_ROWS_OR_BYTES: a bound of the client's settings. */
const tooLargeCode = '396';

/** Whether the engine itself answered with the error, rather than the connection to it. */
export function isServerAnswer(error: unknown): boolean {
  return error instanceof ClickHouseError;
}

/** Runs a ClickHouse read; an engine that is away becomes `UnavailableError`, anything else passes unchanged. */
export async function runClickHouse<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isRetryableClickHouseError(error)) {
      throw new UnavailableError('clickhouse_unavailable', 'The trace store cannot be reached right now.', {
        cause: error,
      });
    }
    if (error instanceof ClickHouseError && error.code === tooLargeCode) {
      throw new TooLargeError('result_too_large', 'The answer would be too large; ask for less of it.', {
        cause: error,
      });
    }
    throw error;
  }
}
