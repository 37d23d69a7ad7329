import type { Candidate } from './ports.ts';
import { LimitReached, RunFailed } from './ports.ts';
import { finish } from './race-candidate.ts';
import { reportProgress, type SearchRun } from './search-run.ts';
import { seedOf } from './start-search.ts';

/** Rows of a batch at least; more if more calls may be made at once. */
const batchRowsMin = 5;
/** The share of rows with errors above which nothing can be compared with the base. */
const errorShareMax = 0.2;

/**
 * Runs the base on the validation rows and puts it into the pool, also when a limit ends this early.
 * @throws LimitReached; RunFailed if too many rows have an error
 */
export async function evaluateBase(run: SearchRun): Promise<Candidate> {
  const seed = seedOf(run);
  run.seen.add(seed.hash);
  await run.ports.emit({ type: 'candidate', candidate: seed });
  run.phase = 'baseline';
  await reportProgress(run);
  const { val } = run.rows;
  const batchRows = Math.max(batchRowsMin, run.config.search.concurrency);
  try {
    for (let at = 0; at < val.length; at += batchRows) {
      await run.evaluator.evaluate(seed, val.slice(at, at + batchRows));
    }
  } catch (error) {
    // The scores before the limit are kept as well.
    if (error instanceof LimitReached) await finish(run, seed, 'pool', null);
    throw error;
  }
  const samples = val.flatMap(({ key }) => run.evaluator.samplesOf(seed.hash, key));
  const errors = samples.flatMap(({ error }) => error ?? []);
  if (errors.length > errorShareMax * samples.length) {
    const share = `${errors.length} of ${samples.length} calls for the validation rows`;
    throw new RunFailed('evaluation_failed', `The base was not evaluated, because ${share} failed: ${errors[0]}`);
  }
  return await finish(run, seed, 'pool', null);
}
