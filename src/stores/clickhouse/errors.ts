import { ClickHouseError } from '@clickhouse/client';
import { type AppError, TooLargeError, UnavailableError } from '../../lib/errors.ts';
import { isNetworkCode } from '../../lib/network-codes.ts';

/**
 * What an error of a ClickHouse request says about a retry. `passing`: the problem ends by itself.
 * `data`: these rows are the cause. `unknown`: nothing is known.
 */
export type ClickHouseFault = 'passing' | 'data' | 'unknown';

/**
 * Temporary errors (names and numbers of ErrorCodes.cpp): the server, a shard, a replica or Keeper
 * is unavailable, overloaded, full, or not set up yet. None of them depends on the rows.
 */
const passingCodes: Readonly<Record<string, string>> = {
  16: 'NO_SUCH_COLUMN_IN_TABLE', // A migration has not run yet.
  60: 'UNKNOWN_TABLE',
  75: 'CANNOT_WRITE_TO_FILE_DESCRIPTOR',
  76: 'CANNOT_OPEN_FILE',
  81: 'UNKNOWN_DATABASE',
  86: 'RECEIVED_ERROR_FROM_REMOTE_IO_SERVER',
  95: 'CANNOT_READ_FROM_SOCKET',
  96: 'CANNOT_WRITE_TO_SOCKET',
  159: 'TIMEOUT_EXCEEDED',
  164: 'READONLY',
  172: 'CANNOT_CREATE_DIRECTORY',
  173: 'CANNOT_ALLOCATE_MEMORY',
  192: 'UNKNOWN_USER',
  193: 'WRONG_PASSWORD',
  194: 'REQUIRED_PASSWORD',
  195: 'IP_ADDRESS_NOT_ALLOWED',
  198: 'DNS_ERROR',
  201: 'QUOTA_EXCEEDED',
  202: 'TOO_MANY_SIMULTANEOUS_QUERIES',
  203: 'NO_FREE_CONNECTION',
  204: 'CANNOT_FSYNC',
  209: 'SOCKET_TIMEOUT',
  210: 'NETWORK_ERROR',
  218: 'TABLE_IS_DROPPED',
  225: 'NO_ZOOKEEPER',
  232: 'NO_SUCH_DATA_PART',
  234: 'NO_REPLICA_HAS_PART',
  236: 'ABORTED',
  241: 'MEMORY_LIMIT_EXCEEDED',
  242: 'TABLE_IS_READ_ONLY',
  243: 'NOT_ENOUGH_SPACE',
  244: 'UNEXPECTED_ZOOKEEPER_ERROR',
  252: 'TOO_MANY_PARTS',
  254: 'NO_ACTIVE_REPLICAS',
  255: 'TOO_MANY_RETRIES_TO_FETCH_PARTS',
  265: 'NO_AVAILABLE_REPLICA',
  274: 'AIO_READ_ERROR',
  275: 'AIO_WRITE_ERROR',
  279: 'ALL_CONNECTION_TRIES_FAILED',
  285: 'TOO_FEW_LIVE_REPLICAS',
  286: 'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE',
  289: 'REPLICA_IS_NOT_IN_QUORUM',
  291: 'DATABASE_ACCESS_DENIED',
  294: 'CANNOT_WRITE_TO_FILE',
  297: 'SHARD_HAS_NO_CONNECTIONS',
  319: 'UNKNOWN_STATUS_OF_INSERT',
  364: 'RECEIVED_ERROR_TOO_MANY_REQUESTS',
  369: 'ALL_REPLICAS_ARE_STALE',
  373: 'SESSION_IS_LOCKED',
  384: 'PART_IS_TEMPORARILY_LOCKED',
  394: 'QUERY_WAS_CANCELLED',
  410: 'EXTERNAL_SERVER_IS_NOT_RESPONDING',
  411: 'PTHREAD_ERROR',
  415: 'ALL_REPLICAS_LOST',
  416: 'REPLICA_STATUS_CHANGED',
  425: 'SYSTEM_ERROR',
  439: 'CANNOT_SCHEDULE_TASK',
  473: 'DEADLOCK_AVOIDED',
  497: 'ACCESS_DENIED',
  499: 'S3_ERROR',
  500: 'AZURE_BLOB_STORAGE_ERROR',
  516: 'AUTHENTICATION_FAILED',
  519: 'NO_REMOTE_SHARD_AVAILABLE',
  529: 'NOT_A_LEADER',
  568: 'RAFT_ERROR',
  571: 'DATABASE_REPLICATION_FAILED',
  574: 'DISTRIBUTED_TOO_MANY_PENDING_BYTES',
  677: 'THREAD_WAS_CANCELED',
  700: 'USER_SESSION_LIMIT_EXCEEDED',
  722: 'ASYNC_LOAD_WAIT_FAILED',
  733: 'TABLE_IS_BEING_RESTARTED',
  735: 'QUERY_WAS_CANCELLED_BY_CLIENT',
  738: 'PART_IS_LOCKED',
  745: 'SERVER_OVERLOADED',
  749: 'TCP_CONNECTION_LIMIT_REACHED',
  762: 'HTTP_CONNECTION_LIMIT_REACHED',
  776: 'RESOURCE_LIMIT_EXCEEDED',
  777: 'MEMORY_RESERVATION_KILLED',
  778: 'MEMORY_RESERVATION_FAILED',
  904: 'TOO_MANY_UNAVAILABLE_SHARDS',
  999: 'KEEPER_EXCEPTION',
  1000: 'POCO_EXCEPTION',
};

/** Errors that the rows cause. Sending the rows again cannot help. */
const dataCodes: Readonly<Record<string, string>> = {
  6: 'CANNOT_PARSE_TEXT',
  7: 'INCORRECT_NUMBER_OF_COLUMNS',
  9: 'SIZES_OF_COLUMNS_DOESNT_MATCH',
  13: 'SIZES_OF_COLUMNS_IN_TUPLE_DOESNT_MATCH',
  19: 'SIZE_OF_FIXED_STRING_DOESNT_MATCH',
  20: 'NUMBER_OF_COLUMNS_DOESNT_MATCH',
  25: 'CANNOT_PARSE_ESCAPE_SEQUENCE',
  26: 'CANNOT_PARSE_QUOTED_STRING',
  27: 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  32: 'ATTEMPT_TO_READ_AFTER_EOF',
  33: 'CANNOT_READ_ALL_DATA',
  38: 'CANNOT_PARSE_DATE',
  41: 'CANNOT_PARSE_DATETIME',
  53: 'TYPE_MISMATCH',
  62: 'SYNTAX_ERROR',
  69: 'ARGUMENT_OUT_OF_BOUND',
  70: 'CANNOT_CONVERT_TYPE',
  72: 'CANNOT_PARSE_NUMBER',
  117: 'INCORRECT_DATA',
  128: 'TOO_LARGE_ARRAY_SIZE',
  130: 'CANNOT_READ_ARRAY_FROM_TEXT',
  131: 'TOO_LARGE_STRING_SIZE',
  190: 'SIZES_OF_ARRAYS_DONT_MATCH',
  321: 'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
  349: 'CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN',
  366: 'SIZES_OF_NESTED_COLUMNS_ARE_INCONSISTENT',
  407: 'DECIMAL_OVERFLOW',
  467: 'CANNOT_PARSE_BOOL',
  469: 'VIOLATED_CONSTRAINT',
  563: 'CANNOT_READ_MAP_FROM_TEXT',
};

/**
 * Errors of the server itself (names and numbers of ErrorCodes.cpp): it cannot read its files, or its program failed.
 * No caller causes them, and the same read may succeed later or at another replica. Only reads use this table: for
 * an insert some of these numbers mean that the rows cannot be read.
 */
const engineCodes: Readonly<Record<string, string>> = {
  33: 'CANNOT_READ_ALL_DATA',
  40: 'CHECKSUM_DOESNT_MATCH',
  49: 'LOGICAL_ERROR',
  74: 'CANNOT_READ_FROM_FILE_DESCRIPTOR',
  88: 'CANNOT_TRUNCATE_FILE',
  107: 'FILE_DOESNT_EXIST',
  226: 'NO_FILE_IN_DATA_PART',
  228: 'BAD_SIZE_OF_FILE_IN_DATA_PART',
  246: 'CORRUPTED_DATA',
  271: 'CANNOT_DECOMPRESS',
  400: 'CANNOT_STAT',
  1001: 'STD_EXCEPTION',
  1002: 'UNKNOWN_EXCEPTION',
};

/** Codes of Node: its parser of HTTP cannot read the answer, or the machine has no buffer or port for a connection. */
const connectionCodes = /^(?:HPE_|ENOBUFS$|EADDRNOTAVAIL$)/;

/**
 * Errors of the client that have no code: its time-out, a broken socket, answers of a proxy in
 * front of ClickHouse, and an error within the answer whose text the client cannot read because it
 * arrived in two pieces.
 */
const transportMessages =
  /^Timeout error|^there was an error in the stream|socket hang up|^aborted$|^The user aborted|^\s*<|^\s*$|gateway|upstream|service unavailable|too many requests/i;

/**
 * Classifies what ClickHouse or its connection said for a retry. An error of our own code is
 * `unknown`, and so is an error for a caller: `originOf` tells what was said.
 */
export function clickHouseFault(error: unknown): ClickHouseFault {
  if (error instanceof ClickHouseError) {
    if (error.code in passingCodes) return 'passing';
    return error.code in dataCodes ? 'data' : 'unknown';
  }
  return isTransportError(error) ? 'passing' : 'unknown';
}

/** Returns whether the same request may succeed later, whatever it contains. */
export function isRetryableClickHouseError(error: unknown): boolean {
  return clickHouseFault(error) === 'passing';
}

function isTransportError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string') return isNetworkCode(error.code);
  return error.constructor === Error && transportMessages.test(error.message);
}

/**
 * Maps the limits of the client's settings to errors for the caller of a read (codes of
 * ErrorCodes.cpp).
 */
const boundErrors: Readonly<Record<string, (cause: ClickHouseError) => AppError>> = {
  // TIMEOUT_EXCEEDED
  '159': (cause) =>
    new UnavailableError(
      'query_timeout',
      'The query exceeded its time limit. Send it again, or request a shorter window or fewer filters.',
      {
        cause,
      },
    ),
  // TOO_MANY_ROWS
  '158': (cause) =>
    new TooLargeError('query_too_large', 'The query would read too much data. Request a shorter window.', { cause }),
  // TOO_MANY_ROWS_OR_BYTES
  '396': (cause) =>
    new TooLargeError('result_too_large', 'The response would be too large. Request less data.', { cause }),
};

/**
 * Returns whether an error of a read says that the result has more rows or bytes than the query
 * allows.
 */
export function isTooLarge(error: unknown): boolean {
  return error instanceof TooLargeError && error.code === 'result_too_large';
}

/** Returns whether ClickHouse itself answered with the error, rather than the connection. */
export function isServerAnswer(error: unknown): error is ClickHouseError {
  return error instanceof ClickHouseError;
}

/**
 * Converts an error to UnavailableError if ClickHouse is unavailable, completely or in part, or too
 * slow, and to TooLargeError if a limit on rows or bytes is exceeded. Returns any other error
 * unchanged. Only files beside this one call it, so that no caller can forget it.
 */
export function recognizeClickHouseError(error: unknown): unknown {
  const bound = isServerAnswer(error) ? boundErrors[error.code]?.(error) : undefined;
  return bound ?? (isRetryableClickHouseError(error) ? clickHouseAway(error) : error);
}

/**
 * Converts an error of a read to one for its caller, like {@link recognizeClickHouseError}, and to UnavailableError
 * also where an insert would not be sent again.
 */
export function recognizeReadError(error: unknown): unknown {
  return isOfEngine(error) ? clickHouseAway(error) : recognizeClickHouseError(error);
}

function isOfEngine(error: unknown): boolean {
  if (isServerAnswer(error)) return error.code in engineCodes;
  return error instanceof Error && 'code' in error && connectionCodes.test(String(error.code));
}

/** Returns the error for a caller while ClickHouse is unavailable. */
export function clickHouseAway(cause?: unknown): UnavailableError {
  return new UnavailableError('clickhouse_unavailable', 'The trace store cannot be reached at the moment.', { cause });
}
