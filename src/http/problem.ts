import { AppError, type Fault } from '../lib/errors.ts';
import { type CodeOf, type ProblemCode, type ProblemKind, problemCodes } from '../lib/problem-codes.ts';
import { fitJson, jsonBytesOf } from './fit-json.ts';

/** RFC 9457 problem details, the error format of every JSON endpoint. */
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
  request_timeout: 408,
  headers_too_large: 431,
  internal: 500,
} as const satisfies Record<ProblemKind, number>;

/** Bytes of the JSON of a problem, and those of them that are for faults if the other members would take all. */
const problemBytesMax = 64 * 1024;
const faultsBytesMin = 8 * 1024;
const detailCharsMax = 2_000;

/**
 * Converts any thrown value to a problem of at most 64 KiB. The details of an error that is not an `AppError` are
 * hidden behind `internal_error`. `truncated` is true if elements of lists are left out.
 */
export function toProblem(error: unknown, where: { requestId: string; instance: string }): Problem {
  if (!(error instanceof AppError)) {
    const detail = `An internal error occurred. Quote the request id ${where.requestId} when you report it`;
    return problemOf('internal', 'internal_error', detail, where);
  }
  const { kind, code, message, errors, extra }: AppError = error;
  const problem = problemOf(kind, code, message.slice(0, detailCharsMax), where);
  const hasFaults = errors !== undefined && errors.length > 0;
  // People read the faults after what they are faults of.
  const { errors: fitted, ...members } = fitMembers(
    { ...extra, ...(hasFaults && { errors }) },
    problemBytesMax - jsonBytesOf(problem),
    hasFaults ? faultsBytesMin : 0,
  );
  return { ...members, ...problem, ...(fitted === undefined ? {} : { errors: fitted as Fault[] }) };
}

/** Fits the members of a problem into so many bytes. Faults come last, and have at least `reserved` of the bytes. */
function fitMembers(
  members: Readonly<Record<string, unknown>>,
  bytesMax: number,
  reserved: number,
): Record<string, unknown> {
  const fitted: Record<string, unknown> = {};
  let left = bytesMax - jsonBytesOf({ truncated: true });
  let isWhole = true;
  for (const [name, member] of Object.entries(members)) {
    const room = left - jsonBytesOf(name) - 2 - (name === 'errors' ? 0 : reserved);
    const { value, bytes, isWhole: isWholeMember } = fitJson(member, room);
    isWhole &&= isWholeMember;
    if (value === undefined) continue;
    fitted[name] = value;
    left -= jsonBytesOf(name) + 2 + bytes;
  }
  return isWhole ? fitted : { ...fitted, truncated: true };
}

/** Builds a problem for a registered code, for responses without an `AppError`. */
export function problemOf<K extends ProblemKind>(
  kind: K,
  code: CodeOf<K>,
  detail: string,
  { requestId, instance }: { requestId: string; instance: string },
): Problem {
  const titles: Readonly<Record<string, string>> = problemCodes[kind];
  return {
    type: `urn:promptlane:problem:${code}`,
    title: titles[code] ?? code,
    status: statusByKind[kind],
    detail,
    instance,
    code,
    request_id: requestId,
  };
}

/**
 * Returns the headers that HTTP requires with the status: `Retry-After` in whole seconds >= 1 for
 * 429 and 503 (RFC 9110, 10.2.3), and a challenge for 401.
 */
export function problemHeaders(problem: Problem, error: unknown): Record<string, string> {
  if (problem.status === 429 || problem.status === 503) {
    const afterS = error instanceof AppError ? (error.retryAfterS ?? 1) : 1;
    return { 'Retry-After': String(Math.max(1, Math.ceil(Number.isFinite(afterS) ? afterS : 1))) };
  }
  return problem.status === 401 ? { 'WWW-Authenticate': 'Bearer realm="api"' } : {};
}
