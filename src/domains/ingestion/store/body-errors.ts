import { AppError } from '../../../lib/errors.ts';
import { isNetworkCode } from '../../../lib/network-codes.ts';
import { isRetryableClickHouseError, isServerAnswer } from '../../../stores/clickhouse/errors.ts';

/**
 * Errors of Redis while it starts, is full, fails over or is busy (redis.io/docs, error prefixes),
 * and errors of ioredis itself.
 */
const passingRedisErrors =
  /^(?:OOM|LOADING|READONLY|BUSY|MASTERDOWN|MISCONF|NOREPLICAS|TRYAGAIN|CLUSTERDOWN|UNBLOCKED) |^Connection is closed|^Command timed out|^Stream isn't writeable/;

/**
 * Tells whether an error means that a database is unavailable, full or overloaded, whatever the
 * body. Any other error may be caused by the body itself.
 */
export function isKnownToPass(error: unknown): boolean {
  if (error instanceof AppError) return error.kind === 'unavailable' || error.kind === 'rate_limited';
  if (isServerAnswer(error)) return isRetryableClickHouseError(error);
  if (!(error instanceof Error)) return false;
  return isNetworkCode(codeOf(error)) || passingRedisErrors.test(error.message);
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}

/** The body can never become rows, however often it is tried. */
export class BadBodyError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'BadBodyError';
  }
}

/** Kinds of errors that the content of a body causes. */
const bodyKinds: ReadonlySet<string> = new Set(['malformed', 'too_large', 'invalid', 'unsupported_media_type']);

/**
 * Wraps an error that the body alone causes: a retry would throw it again. Returns any other error unchanged, such as one
 * of a file of this program that cannot be loaded.
 */
export function asBadBody(error: unknown): unknown {
  if (!(error instanceof AppError) || !bodyKinds.has(error.kind)) return error;
  return new BadBodyError(`The body cannot be decoded and written as rows: ${error.message}`, error);
}
