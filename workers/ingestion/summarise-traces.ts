import {
  findLightSpans,
  insertExecutions,
  type LightSpan,
  summariseExecution,
} from '../../src/domains/executions/index.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { BatchEntry } from './span-batcher.ts';

/**
 * Recomputes the executions that the entries touched, from all spans stored by now. Two workers may do so for one trace at once:
 * each reads after its own insert, so the later reader sees everything, and the row's version grows with what was seen.
 */
export async function summariseTraces(clickhouse: ClickHouse, entries: readonly BatchEntry[]): Promise<void> {
  const executions = [];
  for (const [projectId, traceIds] of tracesByProject(entries)) {
    const spans = await findLightSpans(clickhouse, projectId, [...traceIds]);
    for (const trace of groupByTrace(spans)) executions.push(summariseExecution(projectId, trace));
  }
  if (executions.length > 0) await insertExecutions(clickhouse, executions);
}

function tracesByProject(entries: readonly BatchEntry[]): Map<string, Set<string>> {
  const byProject = new Map<string, Set<string>>();
  for (const { projectId, encoded } of entries) {
    const traceIds = byProject.get(projectId) ?? new Set<string>();
    for (const traceId of encoded.traceIds) traceIds.add(traceId);
    byProject.set(projectId, traceIds);
  }
  return byProject;
}

function groupByTrace(spans: readonly LightSpan[]): Iterable<LightSpan[]> {
  const byTrace = new Map<string, LightSpan[]>();
  for (const span of spans) {
    const trace = byTrace.get(span.traceId);
    if (trace === undefined) byTrace.set(span.traceId, [span]);
    else trace.push(span);
  }
  return byTrace.values();
}
