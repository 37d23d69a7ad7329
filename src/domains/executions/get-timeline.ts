import { buildTimeline } from './build-timeline.ts';
import { cutWarnings, type FindTraceDeps, findTrace } from './find-trace.ts';
import type { TimelineWire } from './timeline.schema.ts';
import type { SpanFilter } from './tree/pick-spans.ts';
import { placeSpans } from './tree/place-spans.ts';

/**
 * Returns one execution laid out in time.
 * @throws NotFoundError when the trace has no spans
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function getTimeline(
  deps: FindTraceDeps,
  input: { projectId: string; traceId: string; skew: boolean; filter: SpanFilter },
): Promise<TimelineWire> {
  const trace = await findTrace(deps, input, { events: true });
  const { moreThanLimit, ...timeline } = buildTimeline(placeSpans(trace.spans, input), input.filter, input.skew);
  return {
    ...{ trace_id: trace.traceId, project_id: input.projectId, truncated: trace.truncated || moreThanLimit },
    ...timeline,
    warnings: [...cutWarnings(trace), ...timeline.warnings],
  };
}
