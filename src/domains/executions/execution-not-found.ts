import { NotFoundError } from '../../lib/errors.ts';

/** A trace id of a URL in the spelling of the store. Throws NotFoundError for what cannot be one. */
export function checkedTraceId(text: string): string {
  const traceId = text.toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(traceId)) throw unknownExecution();
  return traceId;
}

export function unknownExecution(): NotFoundError {
  return new NotFoundError('execution_not_found', 'There is no such execution in this project.');
}

/** A span id of a URL in the spelling of the store. Throws NotFoundError for what cannot be one. */
export function checkedSpanId(text: string): string {
  const spanId = text.toLowerCase();
  if (!/^[0-9a-f]{16}$/.test(spanId)) throw unknownSpan();
  return spanId;
}

export function unknownSpan(): NotFoundError {
  return new NotFoundError('span_not_found', 'There is no such span in this execution.');
}
