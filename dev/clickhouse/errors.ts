/** An error of the engine or of this server. `code` and `type` are those of ClickHouse. */
export class EngineError extends Error {
  readonly code: number;
  readonly type: string;

  constructor(code: number, type: string, message: string) {
    super(message);
    this.name = 'EngineError';
    this.code = code;
    this.type = type;
  }

  /** Returns the text of a real server, which clients parse. `version` is the version of the engine. */
  toBody(version: string): string {
    return `Code: ${this.code}. DB::Exception: ${this.message} (${this.type}) (version ${version})\n`;
  }
}

/**
 * Parses `Code: N. DB::Exception: text (NAME)` of chDB. For synchronous errors, chDB adds the
 * prefix `Query failed:`. For faulty data of an INSERT, it repeats code, version and name. Both are
 * removed.
 */
export function parseEngineError(text: string): EngineError {
  const match = ENGINE_ERROR.exec(text);
  const groups = match?.groups;
  if (groups?.code === undefined || groups.type === undefined) return new EngineError(1001, 'STD_EXCEPTION', text);
  const inner = ENGINE_ERROR.exec((groups.message ?? '').replace(/\(version [^()]*\)\.?\s*$/, '').trim());
  const message = inner?.groups?.code === groups.code ? inner.groups.message : groups.message;
  return new EngineError(Number(groups.code), groups.type, (message ?? text).trim());
}

/** HTTP status by the name of the exception, as in `exceptionCodeToHTTPStatus.cpp` of ClickHouse. */
export function httpStatusOf(error: EngineError): number {
  for (const [status, types] of STATUS_TYPES) if (types.has(error.type)) return status;
  return 500;
}

const ENGINE_ERROR =
  /^(?:[\s\S]*?)Code: (?<code>\d+)\. DB::Exception: (?<message>[\s\S]*?)\s*\((?<type>[A-Z][A-Z0-9_]{2,})\)\s*$/;

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const STATUS_TYPES: ReadonlyArray<readonly [number, ReadonlySet<string>]> = [
  [401, words('REQUIRED_PASSWORD')],
  [403, words('UNKNOWN_USER WRONG_PASSWORD AUTHENTICATION_FAILED SET_NON_GRANTED_ROLE ACCESS_DENIED')],
  [
    400,
    words(`
      BAD_ARGUMENTS CANNOT_COMPILE_REGEXP CANNOT_PARSE_TEXT CANNOT_PARSE_ESCAPE_SEQUENCE CANNOT_PARSE_QUOTED_STRING
      CANNOT_PARSE_DATE CANNOT_PARSE_DATETIME CANNOT_PARSE_NUMBER CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING
      CANNOT_PARSE_IPV4 CANNOT_PARSE_IPV6 CANNOT_PARSE_INPUT_ASSERTION_FAILED CANNOT_PARSE_UUID DUPLICATE_COLUMN
      ILLEGAL_COLUMN UNKNOWN_ELEMENT_IN_AST UNKNOWN_TYPE_OF_AST_NODE THERE_IS_NO_COLUMN TOO_DEEP_AST TOO_BIG_AST
      UNEXPECTED_AST_STRUCTURE SYNTAX_ERROR INCORRECT_DATA TYPE_MISMATCH VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE`),
  ],
  [
    404,
    words(`
      UNKNOWN_TABLE UNKNOWN_FUNCTION UNKNOWN_IDENTIFIER UNKNOWN_TYPE UNKNOWN_STORAGE UNKNOWN_DATABASE UNKNOWN_SETTING
      UNKNOWN_DIRECTION_OF_SORTING UNKNOWN_AGGREGATE_FUNCTION UNKNOWN_FORMAT UNKNOWN_DATABASE_ENGINE
      UNKNOWN_TYPE_OF_QUERY UNKNOWN_ROLE`),
  ],
  [408, words('TIMEOUT_EXCEEDED')],
  [411, words('HTTP_LENGTH_REQUIRED')],
  [413, words('QUERY_IS_TOO_LARGE')],
  [415, words('UNSUPPORTED_MEDIA_TYPE')],
  [501, words('NOT_IMPLEMENTED')],
  [503, words('SOCKET_TIMEOUT CANNOT_OPEN_FILE CANNOT_SCHEDULE_TASK')],
];
