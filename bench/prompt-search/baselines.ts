import { rowsToShow } from '../../src/domains/prompt-search/search/choose-batch.ts';
import type { SearchAlgorithm } from '../../src/domains/prompt-search/search/optimize.ts';
import type { Candidate } from '../../src/domains/prompt-search/search/ports.ts';
import { proposeCandidate } from '../../src/domains/prompt-search/search/propose-candidate.ts';
import { evaluateOrFinish, finish } from '../../src/domains/prompt-search/search/race-candidate.ts';
import { bestOf, type SearchRun } from '../../src/domains/prompt-search/search/search-run.ts';

/** One proposal from one batch of rows. */
const oneProposal: SearchAlgorithm = async (run) => {
  await improve(run, seedOf(run));
  return 'max_iterations';
};

/** Proposals from the base, each from another batch, until the calls are used. The validation rows choose. */
const random: SearchAlgorithm = async (run) => {
  for (;;) await improve(run, seedOf(run));
};

/** As {@link random}, but each proposal starts from the best so far. */
const greedy: SearchAlgorithm = async (run) => {
  for (;;) await improve(run, bestOf(run) ?? seedOf(run));
};

/** Simple ways to search, with the proposals, validation rows and holdout of the product. */
export const baselines = { 'one proposal': oneProposal, random, greedy } as const;

async function improve(run: SearchRun, parent: Candidate): Promise<void> {
  run.iteration++;
  const rows = run.trainOrder.take(run.config.search.minibatchSize, new Set());
  await run.evaluator.evaluate(parent, rows);
  const shown = rowsToShow(run, parent, rows).filter(({ row }) => rows.includes(row));
  const child = await proposeCandidate(run, { parent, shown, origin: 'reflect', slot: 0 });
  if (child === undefined) return;
  if (await evaluateOrFinish(run, child, run.rows.val)) await finish(run, child, 'pool', null);
}

function seedOf({ pool: [seed] }: SearchRun): Candidate {
  if (seed === undefined) throw new RangeError('The pool is empty');
  return seed;
}
