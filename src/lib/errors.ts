import type { CodeOf, ErrorKind } from './problem-codes.ts';

export type { CodeOf, ErrorKind, ProblemCode } from './problem-codes.ts';

/** One fault of an input: where (`path`), which (stable `code`), and a description. */
export interface Fault {
  path: string;
  code: string;
  message: string;
}

export interface AppErrorOptions {
  /** Single faults of the input, for errors that can name several. */
  errors?: readonly Fault[];
  /** Extra members for the error body, such as `current_version`. Never secrets. */
  extra?: Readonly<Record<string, unknown>>;
  /** Seconds after which a new attempt makes sense (429, 503). */
  retryAfterS?: number;
  cause?: unknown;
}

/**
 * An error that is reported to the caller. The subclasses give its kind and know nothing of HTTP:
 * `http/problem.ts` maps kinds to statuses, `workers/run-job.ts` maps them to a retry or a failure.
 * `code` comes from `problem-codes.ts`, where it belongs to one kind. `message` quotes the bad
 * value and the limit.
 */
export abstract class AppError<K extends ErrorKind = ErrorKind> extends Error {
  abstract readonly kind: K;
  readonly code: CodeOf<K>;
  readonly errors: readonly Fault[] | undefined;
  readonly extra: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterS: number | undefined;

  constructor(code: CodeOf<K>, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.errors = options.errors;
    this.extra = options.extra;
    this.retryAfterS = options.retryAfterS;
  }
}

export class MalformedError extends AppError<'malformed'> {
  readonly kind = 'malformed';
}
export class UnauthenticatedError extends AppError<'unauthenticated'> {
  readonly kind = 'unauthenticated';
}
export class ExhaustedError extends AppError<'exhausted'> {
  readonly kind = 'exhausted';
}
export class ForbiddenError extends AppError<'forbidden'> {
  readonly kind = 'forbidden';
}
export class NotFoundError extends AppError<'not_found'> {
  readonly kind = 'not_found';
}
export class MethodNotAllowedError extends AppError<'method_not_allowed'> {
  readonly kind = 'method_not_allowed';
}
export class ConflictError extends AppError<'conflict'> {
  readonly kind = 'conflict';
}
export class PreconditionFailedError extends AppError<'precondition_failed'> {
  readonly kind = 'precondition_failed';
}
export class TooLargeError extends AppError<'too_large'> {
  readonly kind = 'too_large';
}
export class UnsupportedMediaTypeError extends AppError<'unsupported_media_type'> {
  readonly kind = 'unsupported_media_type';
}
export class InvalidError extends AppError<'invalid'> {
  readonly kind = 'invalid';
}
export class RateLimitedError extends AppError<'rate_limited'> {
  readonly kind = 'rate_limited';
}
/** A dependency is unavailable or full. A later attempt can succeed. */
export class UnavailableError extends AppError<'unavailable'> {
  readonly kind = 'unavailable';
}
/**
 * The connection to a dependency broke while it stored the effect, so it is unknown whether the
 * effect was stored. Work that cannot be repeated safely must not run again.
 */
export class OutcomeUnknownError extends UnavailableError {
  /** The transaction of Postgres with the effect, whose outcome can be asked for later. Undefined if it changed nothing. */
  readonly transactionId: string | undefined;

  constructor(
    code: UnavailableError['code'],
    detail: string,
    { transactionId, ...more }: { transactionId: string | undefined; cause?: unknown },
  ) {
    super(code, detail, more);
    this.transactionId = transactionId;
  }
}
/**
 * The database stopped a statement that took too long or too much. The same statement may do so again, so work that is
 * repeated without end after an UnavailableError must not be repeated without end after this one.
 */
export class StatementTooSlowError extends UnavailableError {}

/**
 * Returns what an engine said. The clients of the engines throw errors for a caller and keep what
 * was said as the cause. Any other error is returned unchanged.
 */
export function originOf(error: unknown): unknown {
  return error instanceof AppError ? (error.cause ?? error) : error;
}
