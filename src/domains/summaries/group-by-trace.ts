import type { LightSpan } from '../spans/index.ts';

/** Returns the spans of each trace. */
export function groupByTrace(spans: readonly LightSpan[]): Iterable<LightSpan[]> {
  const byTrace = new Map<string, LightSpan[]>();
  for (const span of spans) {
    const trace = byTrace.get(span.traceId);
    if (trace === undefined) byTrace.set(span.traceId, [span]);
    else trace.push(span);
  }
  return byTrace.values();
}
