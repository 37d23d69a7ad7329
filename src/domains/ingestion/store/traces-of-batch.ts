import type { LightSpan } from '../../spans/index.ts';
import type { BatchEntry } from './span-batcher.ts';

/** What a batch holds of one trace. */
export interface TraceOfBatch {
  /** Rows of the trace that the batch has stored. */
  rows: number;
  /** Its spans, each once; undefined when a body came without light spans. */
  spans: Map<string, LightSpan> | undefined;
}

/** What a batch holds of one project. */
export interface ProjectOfBatch {
  projectId: string;
  workspaceId: string;
  rows: number;
  traces: ReadonlyMap<string, TraceOfBatch>;
}

/** Returns the traces that a batch has spans of, by project. */
export function tracesOfBatch(entries: readonly BatchEntry[]): ProjectOfBatch[] {
  const projects = new Map<string, ProjectOfBatch & { traces: Map<string, TraceOfBatch> }>();
  for (const { projectId, workspaceId, encoded } of entries) {
    const project = projects.get(projectId) ?? { projectId, workspaceId, rows: 0, traces: new Map() };
    projects.set(projectId, project);
    project.rows += encoded.spanCount;
    for (const { traceId, spans } of encoded.traces) {
      const trace = project.traces.get(traceId) ?? { rows: 0, spans: new Map() };
      project.traces.set(traceId, trace);
      trace.rows += spans;
      if (encoded.lightSpans === undefined) trace.spans = undefined;
    }
    for (const span of encoded.lightSpans ?? []) project.traces.get(span.traceId)?.spans?.set(span.spanId, span);
  }
  return [...projects.values()];
}

/**
 * Returns all spans of the trace if the batch holds each stored row, and each span once; otherwise
 * undefined.
 */
export function spansAtHand({ rows, spans }: TraceOfBatch, rowsStored: number): LightSpan[] | undefined {
  return spans !== undefined && spans.size === rows && rows === rowsStored ? [...spans.values()] : undefined;
}
