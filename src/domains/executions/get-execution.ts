import { NotFoundError } from '../../lib/errors.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import type { KnownPrompts, SpanPrompt } from '../prompts/index.ts';
import { byStart } from './by-start.ts';
import { breakDownCost, type CostBreakdown } from './cost-breakdown.ts';
import type { Execution } from './execution.ts';
import { findLightSpans, type LightSpan } from './light-span.ts';
import { linkPrompts } from './link-prompts.ts';
import { resolveSpanPrompts } from './resolve-prompts.ts';
import { findSpanDetails, type SpanDetail, type SpanPart } from './span-queries.ts';
import { missingParents, summariseExecution } from './summarise-execution.ts';

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
  const traceId = input.traceId.toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(traceId)) throw unknownExecution();
  const [stored, details] = await Promise.all([
    runClickHouse(() => findLightSpans(deps.clickhouse, input.projectId, [traceId])),
    findSpanDetails(deps.clickhouse, input.projectId, traceId, input.include),
  ]);
  const lights = await resolveSpanPrompts(deps.knownPrompts, input.projectId, stored);
  const links = linkPrompts(lights);
  const spans = lights.toSorted(byStart).flatMap((light) => {
    const detail = details.get(light.spanId);
    return detail === undefined ? [] : [{ light, detail, prompt: links.get(light.spanId) ?? null }];
  });
  if (spans.length === 0) throw unknownExecution();
  return {
    execution: summariseExecution(input.projectId, lights),
    costBreakdown: breakDownCost(lights),
    missingParents: missingParents(lights),
    spans,
  };
}

function unknownExecution(): NotFoundError {
  return new NotFoundError('execution_not_found', 'There is no such execution in this project.');
}
