import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import type { KnownPrompts, SpanPrompt } from '../prompts/index.ts';
import { breakDownCost, type CostBreakdown } from './cost-breakdown.ts';
import type { Execution } from './execution.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';
import { findLightSpans, type LightSpan } from './light-span.ts';
import { linkPrompts } from './link-prompts.ts';
import { resolveExecutionPrompts, resolveSpanPrompts } from './resolve-prompts.ts';
import { findSpanDetails, type SpanDetail, type SpanPart } from './span-queries.ts';
import { missingParents } from './summarise-execution.ts';
import { readExecutionSummary } from './summarise-stored-traces.ts';
import { compareStarts } from './tree/build-tree.ts';

export interface ExecutionDetail {
  execution: Execution;
  costBreakdown: CostBreakdown;
  missingParents: string[];
  /** By start. A span whose heavy half had not arrived when it was read is left for the next read. */
  spans: { light: LightSpan; detail: SpanDetail; prompt: SpanPrompt | null }[];
}

/** One execution with all of its spans. Throws NotFoundError, and UnavailableError while the trace store is away. */
export async function getExecution(
  deps: { clickhouse: ClickHouse; knownPrompts: KnownPrompts },
  input: { projectId: string; traceId: string; include: ReadonlySet<SpanPart> },
): Promise<ExecutionDetail> {
  const traceId = checkedTraceId(input.traceId);
  const [stored, details, summary] = await Promise.all([
    runClickHouse(() => findLightSpans(deps.clickhouse, input.projectId, [traceId])),
    findSpanDetails(deps.clickhouse, input.projectId, traceId, input.include),
    readExecutionSummary(deps.clickhouse, input.projectId, traceId),
  ]);
  const lights = await resolveSpanPrompts(deps.knownPrompts, input.projectId, stored);
  const links = linkPrompts(lights);
  const spans = lights.toSorted(compareStarts).flatMap((light) => {
    const detail = details.get(light.spanId);
    return detail === undefined ? [] : [{ light, detail, prompt: links.get(light.spanId) ?? null }];
  });
  if (spans.length === 0 || summary === undefined) throw unknownExecution();
  const [execution = summary] = await resolveExecutionPrompts(deps.knownPrompts, input.projectId, [summary]);
  return {
    execution,
    costBreakdown: breakDownCost(lights),
    missingParents: missingParents(lights),
    spans,
  };
}
