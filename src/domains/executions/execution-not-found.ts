import { NotFoundError } from '../../lib/errors.ts';

/**
 * Returns a trace id from a URL in the stored spelling (lower case).
 * @throws NotFoundError when the text is not a trace id
 */
export function checkedTraceId(text: string): string {
  const traceId = text.toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(traceId)) throw unknownExecution();
  return traceId;
}

/** Returns the error for an execution that does not exist in the project. */
export function unknownExecution(): NotFoundError {
  return new NotFoundError('execution_not_found', 'The project does not have this execution.');
}

/**
 * Returns a span id from a URL in the stored spelling (lower case).
 * @throws NotFoundError when the text is not a span id
 */
export function checkedSpanId(text: string): string {
  const spanId = text.toLowerCase();
  if (!/^[0-9a-f]{16}$/.test(spanId)) throw unknownSpan();
  return spanId;
}

/** Returns the error for a span that does not exist in the execution. */
export function unknownSpan(): NotFoundError {
  return new NotFoundError('span_not_found', 'The execution does not have this span.');
}
