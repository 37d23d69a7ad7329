import { beginningOf } from '../../lib/beginning-of.ts';
import type { ProjectId } from '../../lib/ids.ts';
import { storableText } from '../../lib/storable-text.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Candidate, CandidateStatus, Evaluation } from '../prompt-search/index.ts';

interface RunRef {
  projectId: ProjectId;
  runId: string;
}

interface CandidateRow {
  id: string;
  position: number;
  hash: string;
  content: Candidate['content'];
  parents: string[];
  origin: Candidate['origin'];
  hypothesis: string | null;
  status: CandidateStatus;
  reject_reason: string | null;
  iteration: number;
  prompt_tokens: number;
  minibatch_before: number | null;
  minibatch_after: number | null;
  val_mean: number | null;
  val_n: number | null;
}

/** A candidate with its place in the order of the run. */
export type StoredCandidate = Candidate & { position: number };

/**
 * Stores a candidate, or what has become of it. Returns false if nothing has changed, as in a replay,
 * which reports a candidate without its scores first.
 */
export async function saveCandidate(
  transaction: Postgres,
  { projectId, runId }: RunRef,
  candidate: Candidate,
): Promise<boolean> {
  const state = {
    status: candidate.status,
    reject_reason: keptText(candidate.rejectReason),
    minibatch_before: candidate.minibatch?.before ?? null,
    minibatch_after: candidate.minibatch?.after ?? null,
    val_mean: candidate.val?.mean ?? null,
    val_n: candidate.val?.n ?? null,
  };
  const columns = Object.keys(state);
  const saved: unknown[] = await transaction('optimization_candidates')
    .insert({
      ...{ project_id: projectId, run_id: runId, id: candidate.id, hash: candidate.hash },
      position: transaction.raw('(select count(*) from optimization_candidates where project_id = ? and run_id = ?)', [
        projectId,
        runId,
      ]),
      content: JSON.stringify(candidate.content),
      parents: [...candidate.parents],
      ...{ origin: candidate.origin, hypothesis: keptText(candidate.hypothesis) },
      ...{ iteration: candidate.iteration, prompt_tokens: candidate.promptTokens, ...state },
    })
    .onConflict(['run_id', 'id'])
    .merge(columns)
    .where(
      transaction.raw(
        `(${columns.map((name) => `optimization_candidates.${name}`).join(', ')}) is distinct from
         (${columns.map((name) => `excluded.${name}`).join(', ')})
         and (excluded.val_n is not null or optimization_candidates.val_n is null)`,
      ),
    )
    .returning('id');
  return saved.length > 0;
}

/** Rows of one INSERT of evaluations, and bytes of their texts. Binding so many takes some milliseconds. */
const insert = { rowsMax: 250, bytesMax: 1024 * 1024 };

/** Stores evaluations by INSERTs between which other work runs. Those of a replay exist. */
export async function saveEvaluations(
  transaction: Postgres,
  run: RunRef,
  evaluations: readonly Evaluation[],
): Promise<void> {
  for (const part of insertsOf(evaluations)) await insertEvaluations(transaction, run, part);
}

function* insertsOf(evaluations: readonly Evaluation[]): Generator<Evaluation[]> {
  let part: Evaluation[] = [];
  let bytes = 0;
  for (const each of evaluations) {
    const ownBytes = Buffer.byteLength(each.output) + Buffer.byteLength(each.feedback);
    if (part.length === insert.rowsMax || (part.length > 0 && bytes + ownBytes > insert.bytesMax)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(each);
    bytes += ownBytes;
  }
  if (part.length > 0) yield part;
}

async function insertEvaluations(
  transaction: Postgres,
  { projectId, runId }: RunRef,
  evaluations: readonly Evaluation[],
): Promise<void> {
  await transaction('optimization_evaluations')
    .insert(
      evaluations.map((each) => ({
        ...{ project_id: projectId, run_id: runId, candidate_hash: each.candidateHash, row_key: each.rowKey },
        ...{ sample_ix: each.sampleIx, split: each.split, score: each.score, feedback: storableText(each.feedback) },
        ...{
          objectives: JSON.stringify(each.objectives),
          output: storableText(each.output),
          latency_ms: each.latencyMs,
        },
        ...{ input_tokens: each.inputTokens, output_tokens: each.outputTokens, error: keptText(each.error) },
        cost_nano_usd: each.costNanoUsd === null ? null : String(each.costNanoUsd),
      })),
    )
    .onConflict()
    .ignore();
}

const keptCharsMax = 2_000;
/** Text of candidates on one page. */
const pageBytesMax = 4 * 1024 * 1024;

/**
 * Lists candidates in the order in which they came to be, at most `limit`, and fewer if their texts are
 * long.
 */
export async function listCandidates(
  postgres: Postgres,
  { projectId, runId }: RunRef,
  { status, after, limit }: { status?: CandidateStatus | undefined; after: number | undefined; limit: number },
): Promise<{ candidates: StoredCandidate[]; hasMore: boolean }> {
  const ofRun = () => postgres('optimization_candidates').where({ project_id: projectId, run_id: runId });
  const query = ofRun()
    .orderBy('position')
    .limit(limit + 1);
  if (status !== undefined) query.where('status', status);
  if (after !== undefined) query.where('position', '>', after);
  const found = await query.select<{ position: number; bytes: number }[]>(
    'position',
    postgres.raw(`octet_length(concat(content::text, hypothesis, reject_reason)) as bytes`),
  );
  let bytes = 0;
  const fitting = found.slice(0, limit).filter((each, index) => {
    bytes += each.bytes;
    return index === 0 || bytes <= pageBytesMax;
  });
  const positions = fitting.map(({ position }) => position);
  const rows =
    positions.length === 0
      ? []
      : await ofRun().whereIn('position', positions).orderBy('position').select<CandidateRow[]>('*');
  return { candidates: rows.map(toCandidate), hasMore: found.length > fitting.length };
}

/** Finds a candidate of a run. */
export async function findCandidate(
  postgres: Postgres,
  { projectId, runId }: RunRef,
  id: string,
): Promise<StoredCandidate | undefined> {
  const row = await postgres('optimization_candidates')
    .where({ project_id: projectId, run_id: runId, id })
    .first<CandidateRow | undefined>('*');
  return row && toCandidate(row);
}

/** Finds the first candidate of a run: the prompt as it was. */
export async function findSeed(postgres: Postgres, { projectId, runId }: RunRef): Promise<StoredCandidate | undefined> {
  const row = await postgres('optimization_candidates')
    .where({ project_id: projectId, run_id: runId, origin: 'seed' })
    .first<CandidateRow | undefined>('*');
  return row && toCandidate(row);
}

/** The mean score of a candidate over the samples of a row. */
export interface RowScore {
  candidateHash: string;
  rowKey: string;
  split: Evaluation['split'];
  /** null if every sample had an error. */
  score: number | null;
}

/** Reads the scores of candidates by row, at most `limit`. */
export async function listRowScores(
  postgres: Postgres,
  { projectId, runId }: RunRef,
  hashes: readonly string[],
  limit: number,
): Promise<RowScore[]> {
  return postgres('optimization_evaluations')
    .where({ project_id: projectId, run_id: runId })
    .whereIn('candidate_hash', hashes)
    .groupBy('candidate_hash', 'row_key', 'split')
    .orderBy(['candidate_hash', 'row_key'])
    .limit(limit)
    .select<RowScore[]>(
      ...['candidate_hash as candidateHash', 'row_key as rowKey', 'split', postgres.raw('avg(score) as score')],
    );
}

function toCandidate(row: CandidateRow): StoredCandidate {
  const { minibatch_before: before, minibatch_after: after, val_mean: mean, val_n: n } = row;
  return {
    ...{ id: row.id, position: row.position, hash: row.hash, content: row.content, parents: row.parents },
    ...{ origin: row.origin, hypothesis: row.hypothesis, status: row.status, rejectReason: row.reject_reason },
    ...{ iteration: row.iteration, promptTokens: row.prompt_tokens },
    minibatch: before === null || after === null ? null : { before, after },
    val: mean === null || n === null ? null : { mean, n },
  };
}

/** Returns what is kept of a text that says something of a candidate. */
export const keptText = (text: string | null) => text && storableText(beginningOf(text, keptCharsMax));
