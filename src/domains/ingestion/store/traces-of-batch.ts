import type { LightSpan } from '../../spans/index.ts';
import type { BatchEntry } from './span-batcher.ts';

/** What a batch holds of one trace. */
export interface TraceOfBatch {
  /** Rows that the batch has stored of it. */
  rows: number;
  /** Its spans, each once; undefined when a body did not bring their light halves, or brings a span for the second time. */
  spans: Map<string, LightSpan> | undefined;
}

/** What a batch holds of one project. */
export interface ProjectOfBatch {
  projectId: string;
  workspaceId: string;
  rows: number;
  traces: ReadonlyMap<string, TraceOfBatch>;
}

/** The traces that a batch has spans of, by project. */
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

/** All spans of the trace, when the store holds exactly those that the batch has. */
export function spansAtHand({ rows, spans }: TraceOfBatch, rowsStored: number): LightSpan[] | undefined {
  return spans !== undefined && spans.size === rows && rows === rowsStored ? [...spans.values()] : undefined;
}
