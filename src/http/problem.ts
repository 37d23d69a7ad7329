import { AppError, type ErrorKind, type Fault } from '../lib/errors.ts';
import { type ProblemCode, problemCodes } from '../lib/problem-codes.ts';

/** RFC 9457 problem details, as every JSON endpoint answers an error. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ProblemCode;
  request_id: string;
  errors?: readonly Fault[];
  [extension: string]: unknown;
}

export const problemContentType = 'application/problem+json';

/** Exhaustive: a new kind without a status is a type error. */
export const statusByKind = {
  malformed: 400,
  unauthenticated: 401,
  exhausted: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  rate_limited: 429,
  unavailable: 503,
} as const satisfies Record<ErrorKind, number>;

/** Any thrown thing as a problem. What is not an `AppError` says nothing but `internal_error`. */
export function toProblem(error: unknown, where: { requestId: string; instance: string }): Problem {
  if (!(error instanceof AppError)) return internalProblem(where);
  const { kind, code, message, errors, extra }: AppError = error;
  return {
    ...extra,
    type: typeUri(code),
    title: titleOf(kind, code),
    status: statusByKind[kind],
    detail: message,
    instance: where.instance,
    code,
    request_id: where.requestId,
    ...(errors && errors.length > 0 ? { errors } : {}),
  };
}

/** Headers the protocol wants beside the status: whole seconds >= 1 for 429 and 503 (RFC 9110 10.2.3), a challenge for 401. */
export function problemHeaders(problem: Problem, error: unknown): Record<string, string> {
  if (problem.status === 429 || problem.status === 503) {
    const afterS = error instanceof AppError ? (error.retryAfterS ?? 1) : 1;
    return { 'Retry-After': String(Math.max(1, Math.ceil(Number.isFinite(afterS) ? afterS : 1))) };
  }
  return problem.status === 401 ? { 'WWW-Authenticate': 'Bearer realm="api"' } : {};
}

function internalProblem({ requestId, instance }: { requestId: string; instance: string }): Problem {
  return {
    type: typeUri('internal_error'),
    title: problemCodes.internal.internal_error,
    status: 500,
    detail: `Something went wrong on our side; quote request id ${requestId} when reporting it`,
    instance,
    code: 'internal_error',
    request_id: requestId,
  };
}

const typeUri = (code: ProblemCode) => `urn:promptlane:problem:${code}`;

function titleOf(kind: ErrorKind, code: ProblemCode): string {
  const titles: Readonly<Record<string, string>> = problemCodes[kind];
  return titles[code] ?? code;
}
