import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { linkPrompts, type PromptFinder, resolveSpanPrompts } from '../prompt-links/index.ts';
import { findTreeSpans, type TreeSpans } from '../spans/reads.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';

export interface FindTraceDeps {
  clickhouse: ClickHouse;
  knownPrompts: PromptFinder;
  /** Whether a large trace may be read in this thread. */
  large: boolean;
}

/**
 * Reads the spans of a trace for its tree, each with its own or inherited prompt, and the trace id
 * as stored.
 * @throws NotFoundError when the trace has no spans
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findTrace(
  { clickhouse, knownPrompts, large }: FindTraceDeps,
  input: { projectId: string; traceId: string },
): Promise<TreeSpans & { traceId: string }> {
  const traceId = checkedTraceId(input.traceId);
  const found = await findTreeSpans(clickhouse, { projectId: input.projectId, traceId }, large);
  if (found.spans.length === 0) throw unknownExecution();
  const spans = await resolveSpanPrompts(knownPrompts, input.projectId, found.spans);
  const prompts = linkPrompts(spans);
  return {
    traceId,
    truncated: found.truncated,
    spans: spans.map((span) => ({ ...span, prompt: prompts.get(span.spanId) ?? null })),
  };
}
