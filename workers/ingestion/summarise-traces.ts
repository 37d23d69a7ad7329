import {
  type Execution,
  findKnownTraces,
  findLightSpans,
  groupByTrace,
  insertExecutions,
  type LightSpan,
  summariseExecution,
} from '../../src/domains/executions/index.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { Redis } from '../../src/stores/redis/client.ts';
import { soleTraces, type TraceClaim } from './claim-traces.ts';
import type { BatchEntry } from './span-batcher.ts';

/**
 * Stores the executions that a batch touched, after its spans. A trace that is new and this batch's alone is summed up from what
 * is at hand; any other is read whole. Two workers may do the latter for one trace at once: each reads after its own insert, so
 * the later reader sees everything, and a summary's version grows with what was seen.
 */
export async function summariseTraces(
  deps: { clickhouse: ClickHouse; redis: Redis },
  entries: readonly BatchEntry[],
  claim: TraceClaim,
): Promise<void> {
  const executions: Execution[] = [];
  const sole = await soleTraces(deps.redis, claim);
  for (const [projectId, traceIds] of claim.traces) {
    const heavy = tracesWithoutLightSpans(entries, projectId);
    const candidates = [...(sole.get(projectId) ?? [])].filter((traceId) => !heavy.has(traceId));
    const known = await findKnownTraces(deps.clickhouse, projectId, candidates);
    const fresh = new Set(candidates.filter((traceId) => !known.has(traceId)));
    const others = [...traceIds].filter((traceId) => !fresh.has(traceId));
    const spans = [
      ...spansAtHand(entries, projectId, fresh),
      ...(await findLightSpans(deps.clickhouse, projectId, others)),
    ];
    for (const trace of groupByTrace(spans)) executions.push(summariseExecution(projectId, trace));
  }
  if (executions.length > 0) await insertExecutions(deps.clickhouse, executions);
}

/** Some body of the batch has spans of these that are not at hand. */
function tracesWithoutLightSpans(entries: readonly BatchEntry[], projectId: string): Set<string> {
  const heavy = entries.filter((entry) => entry.projectId === projectId && entry.encoded.lightSpans === undefined);
  return new Set(heavy.flatMap(({ encoded }) => encoded.traces.map(({ traceId }) => traceId)));
}

/** Each span once, as last received: what the store would answer. */
function spansAtHand(entries: readonly BatchEntry[], projectId: string, traceIds: ReadonlySet<string>): LightSpan[] {
  const spans = new Map<string, LightSpan>();
  for (const entry of entries) {
    if (entry.projectId !== projectId) continue;
    for (const span of entry.encoded.lightSpans ?? []) {
      if (!traceIds.has(span.traceId)) continue;
      const key = span.traceId + span.spanId;
      const before = spans.get(key);
      if (before === undefined) spans.set(key, span);
      else spans.set(key, { ...(before.receivedAtMs <= span.receivedAtMs ? span : before), sentOnce: false });
    }
  }
  return [...spans.values()];
}
