import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import type { Execution } from './execution.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';
import { findLightSpans, type LightSpan } from './light-span.ts';
import { findSpanDetails, type SpanDetail, type SpanPart } from './span-queries.ts';
import { missingParents, summariseExecution } from './summarise-execution.ts';
import { compareStarts } from './tree/build-tree.ts';

export interface ExecutionDetail {
  execution: Execution;
  missingParents: string[];
  /** By start. A span whose heavy half had not arrived when it was read is left for the next read. */
  spans: { light: LightSpan; detail: SpanDetail }[];
}

/** One execution with all of its spans. Throws NotFoundError, and UnavailableError while the trace store is away. */
export async function getExecution(
  deps: { clickhouse: ClickHouse },
  input: { projectId: string; traceId: string; include: ReadonlySet<SpanPart> },
): Promise<ExecutionDetail> {
  const traceId = checkedTraceId(input.traceId);
  const [lights, details] = await Promise.all([
    runClickHouse(() => findLightSpans(deps.clickhouse, input.projectId, [traceId])),
    findSpanDetails(deps.clickhouse, input.projectId, traceId, input.include),
  ]);
  const spans = lights.sort(compareStarts).flatMap((light) => {
    const detail = details.get(light.spanId);
    return detail === undefined ? [] : [{ light, detail }];
  });
  if (spans.length === 0) throw unknownExecution();
  return { execution: summariseExecution(input.projectId, lights), missingParents: missingParents(lights), spans };
}
