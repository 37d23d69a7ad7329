import { seededDraws, shuffled } from '../statistics/seeded-draws.ts';
import type { Candidate, Row } from './ports.ts';
import type { ShownRow } from './reflection-request.ts';
import type { SearchRun } from './search-run.ts';

/** Rows that a reflection model sees. Those beyond the batch cost no call: their results are known. */
const shownRowsMax = 10;
/** Batches that are tried for one that has something to learn from. */
const batchesMax = 3;

export interface Batch {
  rows: readonly Row[];
  /** False if the candidate is perfect on all rows that were tried, or the rows had too many errors. */
  isUseful: boolean;
}

/**
 * Chooses the rows that parent and child are compared on, and runs the parent on them: half are known
 * failures of the parent, the others come from the order of the epoch.
 * @param slot tells apart the proposals of one iteration
 * @throws LimitReached, RunFailed
 */
export async function chooseBatch(run: SearchRun, parent: Candidate, slot = 0): Promise<Batch> {
  const size = run.config.search.minibatchSize;
  const draw = seededDraws(run.config.seed, `batch|${slot}`, run.iteration);
  const failures = shuffled(draw, failuresOf(run, parent)).slice(0, Math.floor(size / 2));
  const tried = new Set<string>();
  for (let attempt = 0; attempt < batchesMax; attempt++) {
    const chosen = new Set([...tried, ...failures.map(({ key }) => key)]);
    const rows = [...failures, ...run.trainOrder.take(size - failures.length, chosen)];
    const isSound = await run.evaluator.evaluate(parent, rows);
    if (!isSound || rows.length === 0) return { rows, isUseful: false };
    if (rows.some((row) => isFailure(run, parent, row))) return { rows, isUseful: true };
    for (const { key } of rows) tried.add(key);
  }
  return { rows: [], isUseful: false };
}

/** Returns the training rows that a candidate is known not to be perfect on. */
export function failuresOf(run: SearchRun, candidate: Candidate): Row[] {
  return run.rows.train.filter((row) => isFailure(run, candidate, row));
}

function isFailure(run: SearchRun, { hash }: Candidate, { key }: Row): boolean {
  const score = run.evaluator.scoreOf(hash, key);
  return typeof score === 'number' && score < 1;
}

/** Returns what a reflection model sees: the batch, and further failures of the parent that are known. */
export function rowsToShow(run: SearchRun, parent: Candidate, batch: readonly Row[], slot = 0): ShownRow[] {
  const inBatch = new Set(batch.map(({ key }) => key));
  const draw = seededDraws(run.config.seed, `shown|${slot}`, run.iteration);
  const further = shuffled(draw, failuresOf(run, parent)).filter(({ key }) => !inBatch.has(key));
  return [...batch, ...further].slice(0, Math.max(shownRowsMax, batch.length)).flatMap((row) => {
    const samples = run.evaluator.samplesOf(parent.hash, row.key).filter(({ score }) => score !== null);
    const worst = samples.toSorted((a, b) => (a.score ?? 0) - (b.score ?? 0))[0];
    if (worst === undefined) return [];
    return [{ row, score: worst.score ?? 0, ...run.evaluator.textsOf(worst) }];
  });
}
