import { ClickHouseError } from '@clickhouse/client';
import { type AppError, TooLargeError, UnavailableError } from '../../lib/errors.ts';
import { isNetworkCode } from '../../lib/network-codes.ts';
import { dataCodes, engineCodes, passingCodes, passingMessages } from './fault-codes.ts';

/**
 * What an error of a ClickHouse request says about a retry. `passing`: the problem ends by itself.
 * `data`: these rows are the cause. `unknown`: nothing is known.
 */
export type ClickHouseFault = 'passing' | 'data' | 'unknown';

/**
 * Errors of the client that have no code: its time-out, a broken socket, answers of a proxy in
 * front of ClickHouse, and an error within the answer whose text the client cannot read because it
 * arrived in two pieces.
 */
const transportMessages =
  /^Timeout error|^there was an error in the stream|socket hang up|^aborted$|^The user aborted|^\s*<|^\s*$|gateway|upstream|service unavailable|too many requests/i;

/** A page of a proxy that refuses the size of a request: the same request would be refused again. */
const tooLargePage = /^\s*<.*(?:\b413\b|too large)/is;

/**
 * Classifies what ClickHouse or its connection said for a retry. An error of our own code is
 * `unknown`, and so is an error for a caller: `originOf` tells what was said.
 */
export function clickHouseFault(error: unknown): ClickHouseFault {
  const said = answerIn(error);
  if (said === undefined) return isTransportError(error) ? 'passing' : 'unknown';
  if (said.code in passingCodes || passingMessages[said.code]?.test(said.message)) return 'passing';
  return said.code in dataCodes ? 'data' : 'unknown';
}

/**
 * The start of an answer about an error that is not of ClickHouse's own type, such as one of the file system or of the
 * network. The client finds no code in such an answer.
 */
const foreignError = /^(?:Poco::Exception|std::exception|Unknown exception)\. Code: (\d+)/;

/** Returns the code and message with which ClickHouse answered, or undefined if it did not. */
function answerIn(error: unknown): { code: string; message: string } | undefined {
  if (isServerAnswer(error)) return error;
  if (!(error instanceof Error)) return undefined;
  const code = foreignError.exec(error.message)?.[1];
  return code === undefined ? undefined : { code, message: error.message };
}

/** Returns whether the same request may succeed later, whatever it contains. */
export function isRetryableClickHouseError(error: unknown): boolean {
  return clickHouseFault(error) === 'passing';
}

/** Returns whether ClickHouse did not answer within the time of a request. It may have done what was asked. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error && error.message.startsWith('Timeout error');
}

/**
 * Errors that pass, but may be caused by the statement: timeout (159) and memory limit (241). The other
 * passing codes concern ClickHouse itself.
 */
const memoryCode = '241';
const doubtfulCodes = new Set(['159', memoryCode]);
/** The memory limit of the whole server, not of the statement: no other statement would succeed. */
const ofTheServer = /\btotal\b/i;

/** Returns whether ClickHouse answered that a statement took too long or too much memory. A smaller one may succeed. */
export function isDoubtfulError(error: unknown): boolean {
  return isServerAnswer(error) && doubtfulCodes.has(error.code) && !ofTheServer.test(error.message);
}

/** Returns whether ClickHouse answered that a statement took too much memory. One that reads less may succeed. */
export function isTooMuchMemory(error: unknown): boolean {
  return isDoubtfulError(error) && isServerAnswer(error) && error.code === memoryCode;
}

function isTransportError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string') return isNetworkCode(error.code);
  if (error.constructor !== Error || tooLargePage.test(error.message.slice(0, 2_000))) return false;
  return transportMessages.test(error.message);
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
  '396': (cause) => resultTooLarge(cause),
};

/** Creates the error for a result that is larger than its query allows. */
export function resultTooLarge(cause?: unknown): TooLargeError {
  return new TooLargeError('result_too_large', 'The response would be too large. Request less data.', { cause });
}

/**
 * Returns whether an error of a read says that the result has more rows or bytes than the query
 * allows.
 */
export function isTooLarge(error: unknown): boolean {
  return error instanceof TooLargeError && error.code === 'result_too_large';
}

/** Returns whether ClickHouse itself answered with an error of its own type. */
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
 * also where an insert would not be sent again. A read that takes more memory than it may would not succeed later.
 */
export function recognizeReadError(error: unknown): unknown {
  if (isTooMuchMemory(error)) {
    const text = 'The query would take too much memory. Request a shorter window or fewer groups.';
    return new TooLargeError('query_too_large', text, { cause: error });
  }
  return isOfEngine(error) ? clickHouseAway(error) : recognizeClickHouseError(error);
}

function isOfEngine(error: unknown): boolean {
  const said = answerIn(error);
  return said !== undefined && said.code in engineCodes;
}

/** Returns the error for a caller while ClickHouse is unavailable. */
export function clickHouseAway(cause?: unknown): UnavailableError {
  return new UnavailableError('clickhouse_unavailable', 'The trace store cannot be reached at the moment.', { cause });
}
