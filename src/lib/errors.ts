/** One thing that is wrong with an input: where (`path`), what (stable `code`) and in words. */
export interface Fault {
  path: string;
  code: string;
  message: string;
}

export interface AppErrorOptions {
  /** Individual faults of the input, for errors that can name several. */
  errors?: readonly Fault[];
  /** Extra members for the error body, such as `current_version`. Never secrets. */
  extra?: Readonly<Record<string, unknown>>;
  /** Seconds after which trying again makes sense (429, 503). */
  retryAfterS?: number;
  cause?: unknown;
}

/**
 * An error a caller is told about. The subclasses say what kind it is and know nothing of HTTP:
 * `http/problem.ts` maps kinds to statuses, `workers/run-job.ts` maps them to retry or dead letter.
 * `code` is a stable machine word; `message` quotes the bad value and the limit.
 */
export abstract class AppError extends Error {
  abstract readonly kind: ErrorKind;
  readonly code: string;
  readonly errors: readonly Fault[] | undefined;
  readonly extra: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterS: number | undefined;

  constructor(code: string, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.errors = options.errors;
    this.extra = options.extra;
    this.retryAfterS = options.retryAfterS;
  }
}

export class MalformedError extends AppError {
  readonly kind = 'malformed';
}
export class UnauthenticatedError extends AppError {
  readonly kind = 'unauthenticated';
}
export class ExhaustedError extends AppError {
  readonly kind = 'exhausted';
}
export class ForbiddenError extends AppError {
  readonly kind = 'forbidden';
}
export class NotFoundError extends AppError {
  readonly kind = 'not_found';
}
export class MethodNotAllowedError extends AppError {
  readonly kind = 'method_not_allowed';
}
export class ConflictError extends AppError {
  readonly kind = 'conflict';
}
export class PreconditionFailedError extends AppError {
  readonly kind = 'precondition_failed';
}
export class TooLargeError extends AppError {
  readonly kind = 'too_large';
}
export class UnsupportedMediaTypeError extends AppError {
  readonly kind = 'unsupported_media_type';
}
export class InvalidError extends AppError {
  readonly kind = 'invalid';
}
export class RateLimitedError extends AppError {
  readonly kind = 'rate_limited';
}
/** A dependency is away or full: trying again later helps. */
export class UnavailableError extends AppError {
  readonly kind = 'unavailable';
}

export type ErrorKind =
  | 'malformed'
  | 'unauthenticated'
  | 'exhausted'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'precondition_failed'
  | 'too_large'
  | 'unsupported_media_type'
  | 'invalid'
  | 'rate_limited'
  | 'unavailable';
