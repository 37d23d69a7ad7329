import { oneTurn, Pace, runInSlices } from '../../../lib/pace.ts';
import type { LightSpan, TraceRows } from '../../spans/index.ts';
import type { BatchEntry } from './span-batcher.ts';

/** What a batch holds of one trace. */
export interface TraceOfBatch {
  /** Rows of the trace that the batch has stored. */
  rows: number;
  /** When the latest of these rows was received. */
  latestMs: number;
  /** Rows received at that time. */
  latestRows: number;
  /** Its rows as light spans; undefined when a body came without them. */
  spans: LightSpan[] | undefined;
}

/** What a batch holds of one project. */
export interface ProjectOfBatch {
  projectId: string;
  workspaceId: string;
  rows: number;
  traces: ReadonlyMap<string, TraceOfBatch>;
}

/** Returns the traces that a batch has spans of, by project. Other work runs between spans. */
export function tracesOfBatch(entries: readonly BatchEntry[]): Promise<ProjectOfBatch[]> {
  return runInSlices(tracesInSteps(entries), new Pace(oneTurn));
}

function* tracesInSteps(entries: readonly BatchEntry[]): Generator<void, ProjectOfBatch[]> {
  const projects = new Map<string, ProjectOfBatch & { traces: Map<string, TraceOfBatch> }>();
  for (const { projectId, workspaceId, receivedAtMs, encoded } of entries) {
    const project = projects.get(projectId) ?? { projectId, workspaceId, rows: 0, traces: new Map() };
    projects.set(projectId, project);
    project.rows += encoded.spanCount;
    for (const { traceId, spans } of encoded.traces) {
      yield;
      const trace = project.traces.get(traceId) ?? { rows: 0, latestMs: 0, latestRows: 0, spans: [] };
      project.traces.set(traceId, trace);
      trace.rows += spans;
      if (receivedAtMs > trace.latestMs) Object.assign(trace, { latestMs: receivedAtMs, latestRows: 0 });
      if (receivedAtMs === trace.latestMs) trace.latestRows += spans;
      if (encoded.lightSpans === undefined) trace.spans = undefined;
    }
    for (const span of encoded.lightSpans ?? []) {
      yield;
      project.traces.get(span.traceId)?.spans?.push(span);
    }
  }
  return [...projects.values()];
}

/** Returns the spans, each as last received. */
function newestOf(rows: readonly LightSpan[]): readonly LightSpan[] {
  if (rows.length === 1) return rows;
  const newest = new Map<string, LightSpan>();
  for (const row of rows) {
    const before = newest.get(row.spanId);
    if (before === undefined || before.receivedAtMs <= row.receivedAtMs) newest.set(row.spanId, row);
  }
  return [...newest.values()];
}

/**
 * Returns all spans of the trace, each as last received, if the batch is known to hold them: it
 * stored every row, or it stored all spans again, which came together and last. Otherwise
 * undefined. So a small trace is not read, however often it is sent.
 */
export function spansAtHand(trace: TraceOfBatch, stored: TraceRows | undefined): readonly LightSpan[] | undefined {
  if (trace.spans === undefined) return undefined;
  const spans = newestOf(trace.spans);
  if (spans.length === trace.rows && (stored?.rows ?? 0) <= trace.rows) return spans;
  if (stored === undefined) return undefined;
  const isLatest = trace.latestMs === stored.latestMs && trace.latestRows === stored.latestRows;
  const isWhole = spans.length === stored.spans && spans.every(({ receivedAtMs }) => receivedAtMs === trace.latestMs);
  return isLatest && isWhole ? spans.map((span) => ({ ...span, sentOnce: false })) : undefined;
}
