import { checkedSpanId, checkedTraceId, unknownSpan } from './execution-not-found.ts';
import type { ShownPart } from './read-logs.ts';
import { readPart } from './read-part.ts';
import { textSlice } from './span-text.ts';
import type { TraceReadDeps } from './trace-read-deps.ts';

/**
 * Returns a slice of the JSON text of one span part.
 * @throws NotFoundError when there is no such span
 * @throws UnavailableError while ClickHouse is unavailable
 * @throws LargePartError as {@link readPart} does
 */
export async function getSpanPart(
  deps: TraceReadDeps,
  input: { projectId: string; traceId: string; spanId: string; part: ShownPart; offset: number; limit: number },
): Promise<string> {
  const trace = { projectId: input.projectId, traceId: checkedTraceId(input.traceId) };
  const whole = await readPart(deps, trace, checkedSpanId(input.spanId), input.part);
  if (whole === undefined) throw unknownSpan();
  const { text, offset, end } = textSlice(whole, input.offset, input.limit);
  const nextOffset = end < whole.length ? end : null;
  return JSON.stringify({ part: input.part, total_chars: whole.length, offset, text, next_offset: nextOffset });
}
