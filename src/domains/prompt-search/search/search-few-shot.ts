import { mapInSlices, oneTurn } from '../../../lib/pace.ts';
import { textOf } from '../metrics/texts.ts';
import { drawIndex, seededDraws, shuffled } from '../statistics/seeded-draws.ts';
import { type MessageTemplate, templatesOf, withTemplate } from './candidate-content.ts';
import { guardCandidate } from './guard-candidate.ts';
import type { Candidate, CandidateContent, FinishReason, Row } from './ports.ts';
import { LimitReached, RunFailed } from './ports.ts';
import { describeCandidate } from './propose-candidate.ts';
import { finish, limitReached, raceCandidate } from './race-candidate.ts';
import { bestOf, type SearchRun, scoreOn } from './search-run.ts';
import { stopReason } from './stop-reason.ts';

/** Subsets of a round, and how many examples one has. */
const subsetsPerRound = 8;
const exampleCounts = [2, 3, 4, 6, 8] as const;
/** Validation rows of the first rung. Each further rung has twice as many, for half of the subsets. */
const firstRungRows = 5;
/** Rounds in a row without a candidate that can be tried. As many as the default of `patience`. */
const emptyRoundsMax = 25;
/** What a template engine could take for its own. */
const templateSyntax = /\{\{|\}\}|\{%|%\}/;

/**
 * Puts examples from the training rows before the prompt: a random search over subsets with successive
 * halving (Jamieson and Talwalkar, 2016).
 * @throws LimitReached, RunFailed, and the reason of the signal
 */
export async function searchFewShot(run: SearchRun): Promise<FinishReason> {
  const isUsableRow = await mapInSlices(run.rows.train, isUsable, oneTurn);
  const usable = run.rows.train.filter((_, index) => isUsableRow[index]);
  if (usable.length === 0) {
    const message = 'No training row says what is expected in a text that may stand in a template';
    await run.ports.emit({ type: 'warning', code: 'no_examples', message });
    return 'patience';
  }
  let [stale, empty] = [0, 0];
  for (;;) {
    const reason = await stopReason(run, stale);
    if (reason !== undefined) return reason;
    run.iteration++;
    const before = bestOf(run)?.id;
    const candidates = await drawSubsets(run, usable);
    empty = candidates.length === 0 ? empty + 1 : 0;
    if (empty >= emptyRoundsMax) return await endWithoutCandidates(run);
    await halve(run, candidates);
    stale = bestOf(run)?.id === before ? stale + 1 : 0;
  }
}

async function endWithoutCandidates(run: SearchRun): Promise<FinishReason> {
  const message = `In ${emptyRoundsMax} rounds in a row, every choice of examples was too long, was tried before or was refused`;
  await run.ports.emit({ type: 'warning', code: 'no_candidates', message });
  return 'patience';
}

/** Runs candidates on more and more rows, and lets the better half go on each time. */
async function halve(run: SearchRun, candidates: readonly Candidate[]): Promise<void> {
  const open = new Set(candidates);
  try {
    for (let rows = firstRungRows; open.size > 1 && rows < run.rows.val.length; rows *= 2) {
      const done = run.rows.val.slice(0, rows);
      for (const each of open) await run.evaluator.evaluate(each, done);
      const score = (each: Candidate) => scoreOn(run, each, done)?.mean ?? 0;
      const ranked = [...open].sort((a, b) => score(b) - score(a));
      for (const each of ranked.slice(Math.ceil(ranked.length / 2))) {
        await drop(run, open, each, `It was in the worse half after ${rows} rows.`);
      }
    }
    for (const each of open) {
      open.delete(each);
      await raceCandidate(run, each);
    }
  } catch (error) {
    if (error instanceof LimitReached) for (const each of open) await drop(run, open, each, limitReached);
    throw error;
  }
}

async function drop(run: SearchRun, open: Set<Candidate>, candidate: Candidate, reason: string): Promise<void> {
  open.delete(candidate);
  await finish(run, candidate, 'raced_out', reason);
}

async function drawSubsets(run: SearchRun, usable: readonly Row[]): Promise<Candidate[]> {
  const draw = seededDraws(run.config.seed, 'examples', run.iteration);
  const first = firstTemplate(run.rules.base);
  const candidates: Candidate[] = [];
  for (let slot = 0; slot < subsetsPerRound; slot++) {
    // A candidate that is too long is refused after milliseconds without any wait.
    await oneTurn();
    const count = exampleCounts[drawIndex(draw, exampleCounts.length)] ?? 2;
    const rows = shuffled(draw, usable).slice(0, count);
    const content = withExamples(run.rules.base, first, rows);
    if ((await guardCandidate(run, { content, index: first.index, shown: [] })) !== undefined) continue;
    const hypothesis = `${rows.length} examples from the training rows`;
    const candidate = describeCandidate(run, {
      parent: run.pool[0],
      content,
      origin: 'demo',
      hypothesis,
      slot,
      attempt: 0,
    });
    run.seen.add(candidate.hash);
    candidates.push(candidate);
  }
  return candidates;
}

const isUsable = ({ inputs, expected }: Row) =>
  expected !== undefined && ![...Object.values(inputs), expected].some((value) => templateSyntax.test(textOf(value)));

/** Returns the first message that instructs: the place of the examples. */
function firstTemplate(base: CandidateContent): MessageTemplate {
  const templates = templatesOf(base);
  const first = templates.find(({ role }) => role !== 'assistant' && role !== 'tool') ?? templates[0];
  if (first === undefined) throw new RunFailed('internal', 'The prompt has no text that can be changed');
  return first;
}

/** Returns the content with a block of examples before a message. */
function withExamples(
  base: CandidateContent,
  { index, template }: MessageTemplate,
  rows: readonly Row[],
): CandidateContent {
  const examples = rows.map(({ inputs, expected }) => {
    const lines = Object.entries(inputs).map(([name, value]) => `${name}: ${textOf(value)}`);
    return [...lines, `Output: ${textOf(expected)}`].join('\n');
  });
  const block = ['Examples:', ...examples, 'End of the examples.'].join('\n\n');
  return withTemplate(base, index, `${block}\n\n${template}`);
}
