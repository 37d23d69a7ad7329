import type { ProjectId } from '../../../lib/ids.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import type { ComparedRow, ShownCandidate } from './report-data.ts';

/** Characters of a text that are read. */
const charsMax = 2_000;

interface CandidateColumns extends Omit<ShownCandidate, 'minibatch' | 'val'> {
  before: number | null;
  after: number | null;
  mean: number | null;
  n: number | null;
}

/** Lists the first candidates of a run without their texts, in the order in which they came to be. */
export async function listShownCandidates(
  postgres: Postgres,
  { projectId, runId }: { projectId: ProjectId; runId: string },
  limit: number,
): Promise<ShownCandidate[]> {
  const rows = await postgres('optimization_candidates')
    .where({ project_id: projectId, run_id: runId })
    .orderBy('position')
    .limit(limit)
    .select<CandidateColumns[]>(
      ...['id', 'parents', 'origin', 'status', 'iteration', 'prompt_tokens as promptTokens', 'val_mean as mean'],
      ...['val_n as n', 'minibatch_before as before', 'minibatch_after as after'],
      postgres.raw(`left(hypothesis, ${charsMax}) as hypothesis`),
      postgres.raw(`left(reject_reason, ${charsMax}) as "rejectReason"`),
    );
  return rows.map(({ before, after, mean, n, ...row }) => ({
    ...row,
    minibatch: before === null || after === null ? null : { before, after },
    val: mean === null || n === null ? null : { mean, n },
  }));
}

interface Columns {
  row_key: string;
  inputs: string;
  expected: string | null;
  before: number | null;
  after: number | null;
  output_before: string | null;
  output_after: string | null;
  feedback_before: string | null;
  feedback_after: string | null;
}

/**
 * Returns the rows of a split on which one of two candidates has the lowest mean score, the worst first.
 * Rows that both have been run on come alone.
 */
export async function findWorstRows(
  postgres: Postgres,
  { projectId, runId }: { projectId: ProjectId; runId: string },
  {
    base,
    best,
    split,
    by,
    limit,
  }: { base: string; best: string; split: string; by: 'before' | 'after'; limit: number },
): Promise<ComparedRow[]> {
  const worst = (side: string) => `lateral (
      select output, feedback from optimization_evaluations
      where project_id = :projectId and run_id = :runId and candidate_hash = :${side} and row_key = scored.row_key
      order by score nulls first, sample_ix limit 1) as ${side}`;
  const { rows } = await postgres.raw<{ rows: Columns[] }>(
    `with scored as (
       select row_key, avg(score) filter (where candidate_hash = :base) as before,
         avg(score) filter (where candidate_hash = :best) as after
       from optimization_evaluations
       where project_id = :projectId and run_id = :runId and split = :split and candidate_hash in (:base, :best)
       group by row_key
       having count(*) filter (where candidate_hash = :base) > 0 and count(*) filter (where candidate_hash = :best) > 0
       order by ${by} nulls first, row_key limit :limit
     )
     select scored.row_key, left(rows.inputs::text, ${charsMax}) as inputs, left(rows.expected::text, ${charsMax}) as expected,
       before, after, left(base.output, ${charsMax}) as output_before, left(best.output, ${charsMax}) as output_after,
       left(base.feedback, ${charsMax}) as feedback_before, left(best.feedback, ${charsMax}) as feedback_after
     from scored
       join optimization_rows as rows on rows.project_id = :projectId and rows.run_id = :runId and rows.row_key = scored.row_key,
       ${worst('base')}, ${worst('best')}
     order by ${by} nulls first, scored.row_key`,
    { projectId, runId, base, best, split, limit },
  );
  return rows.map((row) => ({
    ...{ rowKey: row.row_key, inputs: row.inputs, expected: row.expected },
    before: { score: row.before, output: row.output_before, feedback: row.feedback_before },
    after: { score: row.after, output: row.output_after, feedback: row.feedback_after },
  }));
}
