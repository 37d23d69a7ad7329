import { check } from '../../../http/faults.ts';
import { refuseBody } from '../../../http/validate.ts';
import type { Fault } from '../../../lib/errors.ts';
import { mapInSlices, type Rest } from '../../../lib/pace.ts';
import { type ExecutionBody, type SpanBody, spanBody } from './execution-body.ts';

/** An execution whose spans are validated as well. */
export type CheckedExecution = Omit<ExecutionBody, 'spans'> & { spans: readonly SpanBody[] };

/**
 * Validates the spans of a body in slices: 10,000 spans in one go would block the event loop too
 * long.
 * @throws the error of `refuseBody`, as the validation of any body does, when a span is invalid
 */
export async function checkSpans(body: ExecutionBody, rest: Rest): Promise<CheckedExecution> {
  const spans: SpanBody[] = [];
  const faults: Fault[] = [];
  const checkSpan = (span: unknown, index: number) => {
    if (faults.length >= faultsMax) return;
    const result = check(spanBody, span);
    if (result.ok) spans.push(result.value);
    else faults.push(...result.faults.map((fault) => ({ ...fault, path: pathBelow(index, fault.path) })));
  };
  await mapInSlices(body.spans ?? [], checkSpan, rest);
  if (faults.length > 0) refuseBody(faults.slice(0, faultsMax));
  return { ...body, spans };
}

/** A hostile body can hold half a million faults. No reader needs more than this. */
const faultsMax = 50;

function pathBelow(index: number, path: string): string {
  const separator = path === '' || path.startsWith('[') ? '' : '.';
  return `spans[${index}]${separator}${path}`;
}
