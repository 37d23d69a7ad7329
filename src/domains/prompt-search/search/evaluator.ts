import { LRUCache } from 'lru-cache';
import { beginningOf, copyOf } from '../../../lib/beginning-of.ts';
import { meanOf } from '../statistics/bootstrap-interval.ts';
import type { CandidateContent, Evaluation, Phase, Row } from './ports.ts';
import { RunFailed } from './ports.ts';
import { rowsCharsMax } from './reflection-request.ts';
import { runInOrder } from './run-in-order.ts';
import { type RowTask, type ScoreDeps, scoreRow } from './score-row.ts';

/** A candidate as far as it can be run. */
export interface Runnable {
  hash: string;
  content: CandidateContent;
}

/** The texts of an evaluation. A proposing model is shown those of training rows. */
type Texts = Pick<Evaluation, 'output' | 'feedback'>;
/** What is remembered of an evaluation until the run ends. */
export type KnownEvaluation = Omit<Evaluation, keyof Texts>;

/** Characters of all texts that are kept. Those that were not shown for the longest time are forgotten first. */
const textsCharsMax = 32 * 1024 * 1024;
const forgotten: Texts = { output: '…', feedback: '' };
/** Calls whose evaluations are reported together. An output has up to 131,072 characters. */
const tasksAtOnce = 256;

/** The share of errors above which a batch says nothing, and how many such batches end the run. */
const errorShareMax = 0.2;
const voidBatchesMax = 3;

/**
 * Remembers every evaluation of a run, so that none is paid twice, and counts batches that are void
 * because too many rows had an error.
 */
export class Evaluator {
  readonly #deps: ScoreDeps & { concurrency: number };
  readonly #known = new Map<string, Map<string, KnownEvaluation[]>>();
  readonly #texts = new LRUCache<KnownEvaluation, Texts>({
    maxSize: textsCharsMax,
    sizeCalculation: ({ output, feedback }) => output.length + feedback.length + 1,
  });
  /** The training rows that each candidate was run on. */
  readonly #trainKeys = new Map<string, Set<string>>();
  #trainResults = 0;
  #voidBatches = 0;

  constructor(deps: ScoreDeps & { concurrency: number }) {
    this.#deps = deps;
  }

  /**
   * Runs a candidate on rows, as far as their results are not known.
   * @returns false if the batch is void
   * @throws LimitReached, after what was paid is remembered; RunFailed after 3 void batches in a row
   */
  async evaluate(candidate: Runnable, rows: readonly Row[], phase: Phase = 'search'): Promise<boolean> {
    return await this.#evaluateTasks(this.#missing(candidate, rows, phase), () => this.#samples(candidate.hash, rows));
  }

  /** Runs base and winner on the rows of the holdout in turn, so that what a limit leaves is paired. */
  async evaluatePaired(candidates: readonly Runnable[], rows: readonly Row[]): Promise<void> {
    const tasks = rows.flatMap((row) => candidates.flatMap((each) => this.#missing(each, [row], 'holdout')));
    await this.#evaluateTasks(tasks, () => []);
  }

  /** Returns the score of a row: the mean of its samples, null if all had errors, undefined if unknown. */
  scoreOf(candidateHash: string, rowKey: string): number | null | undefined {
    const samples = this.samplesOf(candidateHash, rowKey);
    if (samples.length === 0) return undefined;
    const scores = samples.flatMap(({ score }) => score ?? []);
    return scores.length === 0 ? null : meanOf(scores);
  }

  samplesOf(candidateHash: string, rowKey: string): readonly KnownEvaluation[] {
    return this.#known.get(candidateHash)?.get(rowKey) ?? [];
  }

  /** Number of results of training rows so far. */
  get trainResults(): number {
    return this.#trainResults;
  }

  /** Returns by how much one candidate does better than another on the training rows that both were run on. */
  trainDifference(candidateHash: string, otherHash: string): number {
    const keys = [candidateHash, otherHash].map((hash) => this.#trainKeys.get(hash) ?? new Set<string>());
    const [fewer, more] = keys.sort((a, b) => a.size - b.size);
    return [...(fewer ?? [])].reduce((sum, key) => {
      if (!more?.has(key)) return sum;
      const [own, other] = [this.scoreOf(candidateHash, key), this.scoreOf(otherHash, key)];
      return typeof own === 'number' && typeof other === 'number' ? sum + own - other : sum;
    }, 0);
  }

  /** Returns the texts of an evaluation of a training row: as much of its output as a proposing model can see. */
  textsOf(evaluation: KnownEvaluation): Texts {
    return this.#texts.get(evaluation) ?? forgotten;
  }

  /** Returns the scores of a candidate on the rows that have one. */
  scoresOf(candidateHash: string, rows: readonly Row[]): { row: Row; score: number }[] {
    return rows.flatMap((row) => {
      const score = this.scoreOf(candidateHash, row.key);
      return typeof score === 'number' ? [{ row, score }] : [];
    });
  }

  #missing({ hash, content }: Runnable, rows: readonly Row[], phase: Phase): RowTask[] {
    const { samplesPerRow } = this.#deps.target;
    return rows.flatMap((row) => {
      const known = new Set(this.samplesOf(hash, row.key).map(({ sampleIx }) => sampleIx));
      const samples = Array.from({ length: samplesPerRow }, (_, sampleIx) => sampleIx);
      return samples
        .filter((sampleIx) => !known.has(sampleIx))
        .map((sampleIx) => ({ content, candidateHash: hash, row, sampleIx, phase }));
    });
  }

  #samples(candidateHash: string, rows: readonly Row[]): KnownEvaluation[] {
    return rows.flatMap(({ key }) => this.samplesOf(candidateHash, key));
  }

  async #evaluateTasks(tasks: readonly RowTask[], batch: () => KnownEvaluation[]): Promise<boolean> {
    for (let at = 0; at < tasks.length; at += tasksAtOnce) await this.#runTasks(tasks.slice(at, at + tasksAtOnce));
    const samples = batch();
    const errors = samples.flatMap(({ error }) => error ?? []);
    const isVoid = errors.length > errorShareMax * samples.length;
    if (tasks.length > 0) this.#voidBatches = isVoid ? this.#voidBatches + 1 : 0;
    if (this.#voidBatches >= voidBatchesMax) {
      const reason = `In ${voidBatchesMax} batches in a row, over ${errorShareMax * 100} % of the rows had an error`;
      throw new RunFailed('evaluation_failed', `${reason}. The last: ${errors[0]}`);
    }
    return !isVoid;
  }

  async #runTasks(tasks: readonly RowTask[]): Promise<void> {
    const { ports, concurrency } = this.#deps;
    const { results, limit } = await runInOrder(tasks, concurrency, (task) => scoreRow(this.#deps, task));
    const evaluations = results.filter((each) => each !== undefined);
    for (const evaluation of evaluations) this.#remember(evaluation);
    if (evaluations.length > 0) await ports.emit({ type: 'evaluations', evaluations });
    if (limit !== undefined) throw limit;
  }

  #remember({ output, feedback, ...known }: Evaluation): void {
    const { candidateHash, rowKey, split } = known;
    const rows = this.#known.get(candidateHash) ?? new Map<string, KnownEvaluation[]>();
    this.#known.set(candidateHash, rows.set(rowKey, [...(rows.get(rowKey) ?? []), known]));
    if (split !== 'train') return;
    this.#trainResults++;
    this.#trainKeys.set(candidateHash, (this.#trainKeys.get(candidateHash) ?? new Set()).add(rowKey));
    const shown = beginningOf(output, rowsCharsMax);
    this.#texts.set(known, { output: copyOf(shown), feedback: copyOf(feedback) });
  }
}
