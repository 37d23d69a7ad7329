/**
 * Temporary errors (names and numbers of ErrorCodes.cpp): the server, a shard, a replica or Keeper
 * is unavailable, overloaded, full, or not set up yet, or its files cannot be used. None of them depends on the rows.
 */
export const passingCodes: Readonly<Record<string, string>> = {
  16: 'NO_SUCH_COLUMN_IN_TABLE', // A migration has not run yet.
  60: 'UNKNOWN_TABLE',
  74: 'CANNOT_READ_FROM_FILE_DESCRIPTOR',
  75: 'CANNOT_WRITE_TO_FILE_DESCRIPTOR',
  76: 'CANNOT_OPEN_FILE',
  81: 'UNKNOWN_DATABASE',
  86: 'RECEIVED_ERROR_FROM_REMOTE_IO_SERVER',
  88: 'CANNOT_TRUNCATE_FILE',
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
  400: 'CANNOT_STAT',
  410: 'EXTERNAL_SERVER_IS_NOT_RESPONDING',
  411: 'PTHREAD_ERROR',
  415: 'ALL_REPLICAS_LOST',
  416: 'REPLICA_STATUS_CHANGED',
  424: 'CANNOT_LINK',
  425: 'SYSTEM_ERROR',
  439: 'CANNOT_SCHEDULE_TASK',
  458: 'CANNOT_UNLINK',
  473: 'DEADLOCK_AVOIDED',
  497: 'ACCESS_DENIED',
  499: 'S3_ERROR',
  500: 'AZURE_BLOB_STORAGE_ERROR',
  516: 'AUTHENTICATION_FAILED',
  519: 'NO_REMOTE_SHARD_AVAILABLE',
  521: 'ATOMIC_RENAME_FAIL',
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

/**
 * Errors that the rows cause. Sending the rows again cannot help, except where {@link passingMessages} says so.
 */
export const dataCodes: Readonly<Record<string, string>> = {
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
 * Messages that tell a passing error, for codes that have other causes as well. They do not depend on the rows:
 * - A shard of a `Distributed` table was killed before it confirmed its rows (ClickHouse 26: `Connection::receivePacket`
 *   and `DistributedSink` add these words to what the socket said).
 * - The file system of a server cannot be used, for example because it is read-only. A server adds the words before
 *   the type only to what it fails with itself, not to what a shard told it.
 *
 * A message may quote what a workspace has sent. So each pattern begins at its start and leaves no place for a
 * quotation. The client gives as the start what follows the last `Exception: `, which could be within a quotation, but
 * the code is always that of the server, and with these codes it quotes nothing of rows in the format Native: only
 * lengths, names of columns, and paths.
 */
export const passingMessages: Readonly<Record<string, RegExp>> = {
  32: /^Attempt to read after eof: (?:while receiving packet from|Insertion status:)\s/,
  33: /^Cannot read all data\. Bytes read: \d+\. Bytes expected: \d+\.?: while receiving packet from\s/,
  1001: /^(?:std::exception\. Code: 1001, type: )?std::\S*\bfilesystem_error\b/,
};

/**
 * Errors of the server itself (names and numbers of ErrorCodes.cpp): its files are damaged, or its program failed.
 * No caller causes them, and the same read may succeed later or at another replica. Only reads use this table: an
 * insert may meet them because of its rows, so it is not repeated without end.
 */
export const engineCodes: Readonly<Record<string, string>> = {
  33: 'CANNOT_READ_ALL_DATA',
  40: 'CHECKSUM_DOESNT_MATCH',
  49: 'LOGICAL_ERROR',
  107: 'FILE_DOESNT_EXIST',
  226: 'NO_FILE_IN_DATA_PART',
  228: 'BAD_SIZE_OF_FILE_IN_DATA_PART',
  246: 'CORRUPTED_DATA',
  271: 'CANNOT_DECOMPRESS',
  1001: 'STD_EXCEPTION',
  1002: 'UNKNOWN_EXCEPTION',
};
