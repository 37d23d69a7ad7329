import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { buildTimeline } from './build-timeline.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';
import type { TimelineWire } from './timeline.schema.ts';
import type { SpanFilter } from './tree/pick-spans.ts';
import { placeSpans } from './tree/place-spans.ts';
import { findTreeSpans } from './tree-span-queries.ts';

/** One execution laid out in time. Throws NotFoundError, and UnavailableError while the trace store is away. */
export async function getTimeline(
  deps: { clickhouse: ClickHouse },
  input: { projectId: string; traceId: string; skew: boolean; filter: SpanFilter },
): Promise<TimelineWire> {
  const traceId = checkedTraceId(input.traceId);
  const { spans, truncated } = await findTreeSpans(deps.clickhouse, input.projectId, traceId);
  if (spans.length === 0) throw unknownExecution();
  const { moreThanLimit, ...timeline } = buildTimeline(placeSpans(spans, input), input.filter, input.skew);
  return { trace_id: traceId, project_id: input.projectId, truncated: truncated || moreThanLimit, ...timeline };
}
