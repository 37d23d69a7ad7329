import type { Postgres } from '../../stores/postgres/client.ts';
import type { FeedbackOfPrompts, PromptFeedback } from '../analytics/index.ts';
import type { Feedback } from './feedback.ts';
import { feedbackColumns, feedbackOf } from './feedback-store.ts';

/** Feedback that belongs to executions. */
const ofExecutions = "target_type in ('execution', 'span')";

/**
 * Returns the mean score of each of these traces that has scored feedback, on itself or its spans.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function scoresOfTraces(
  postgres: Postgres,
  projectId: string,
  traceIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (traceIds.length === 0) return new Map();
  const rows = await postgres('feedback')
    .where({ project_id: projectId })
    .whereRaw('trace_id = any(?)', [[...traceIds]])
    .whereRaw(ofExecutions)
    .whereNotNull('score')
    .groupBy('trace_id')
    .select<{ trace_id: string; score: number }[]>('trace_id', postgres.raw('avg(score) as score'));
  return new Map(rows.map(({ trace_id: traceId, score }) => [traceId, score]));
}

/** Returns the newest feedback on one trace and its spans. */
export async function listFeedbackOfTrace(
  postgres: Postgres,
  { projectId, traceId, limit }: { projectId: string; traceId: string; limit: number },
): Promise<Feedback[]> {
  const rows = await postgres('feedback')
    .where({ project_id: projectId, trace_id: traceId })
    .whereRaw(ofExecutions)
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit)
    .select<Parameters<typeof feedbackOf>[0][]>(...feedbackColumns);
  return rows.map(feedbackOf);
}

/** Entries of feedback that are looked at for their traces: 0.2 s of Postgres. */
const entriesMax = 200_000;

/**
 * Returns the traces that got feedback, on themselves or their spans, at or after a time; undefined when they are more
 * than `max`, or the entries are more than {@link entriesMax}.
 */
export async function findTracesWithFeedback(
  postgres: Postgres,
  { projectId, fromMs, max }: { projectId: string; fromMs: number; max: number },
): Promise<string[] | undefined> {
  const { rows } = await postgres.raw<{ rows: { entries: number; traces: string }[] }>(
    `with entries as materialized (
       select trace_id from "feedback" where project_id = ? and created_at >= ? and ${ofExecutions} limit ?
     )
     select (select count(*)::int from entries) as entries,
       array_to_string(array(select distinct trace_id from entries limit ?), ',') as traces`,
    [projectId, new Date(fromMs), entriesMax + 1, max + 1],
  );
  const [{ entries, traces: text } = { entries: 0, traces: '' }] = rows;
  // The driver would read an array character by character.
  const traces = text === '' ? [] : text.split(',');
  return entries > entriesMax || traces.length > max ? undefined : traces;
}

interface RowOfFeedback {
  target_type: 'execution' | 'span' | 'prompt';
  trace_id: string | null;
  span_id: string | null;
  prompt_version: number | null;
  score: number | null;
}

/**
 * Returns the newest feedback on executions and spans since a time, and on one prompt in a window, at
 * most `max`.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function listFeedbackOfPrompt(
  postgres: Postgres,
  { projectId, promptId, fromMs, toMs, max }: Parameters<FeedbackOfPrompts['ofPrompt']>[1] & { projectId: string },
): Promise<PromptFeedback[]> {
  const rows = await postgres('feedback')
    .where({ project_id: projectId })
    .where('created_at', '>=', new Date(fromMs))
    .whereRaw(`(${ofExecutions} or target_type = 'prompt' and prompt_id = ? and created_at < ?)`, [
      promptId,
      new Date(toMs),
    ])
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(max)
    .select<RowOfFeedback[]>('target_type', 'trace_id', 'span_id', 'prompt_version', 'score');
  return rows.map((row) => ({
    // Feedback can name more than its target.
    traceId: row.target_type === 'prompt' ? null : row.trace_id,
    spanId: row.target_type === 'span' ? row.span_id : null,
    promptVersion: row.prompt_version,
    score: row.score,
  }));
}

/** Returns whether the project has any feedback on executions. */
export async function hasExecutionFeedback(postgres: Postgres, projectId: string): Promise<boolean> {
  const row = await postgres('feedback')
    .where({ project_id: projectId })
    .whereRaw(ofExecutions)
    .first<{ id: string } | undefined>('id');
  return row !== undefined;
}
