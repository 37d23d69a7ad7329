import { meanOf } from '../statistics/bootstrap-interval.ts';
import type { CandidateContent, Evaluation, Phase, Row } from './ports.ts';
import { RunFailed } from './ports.ts';
import { runInOrder } from './run-in-order.ts';
import { type RowTask, type ScoreDeps, scoreRow } from './score-row.ts';

/** A candidate as far as it can be run. */
export interface Runnable {
  hash: string;
  content: CandidateContent;
}

/** The share of errors above which a batch says nothing, and how many such batches end the run. */
const errorShareMax = 0.2;
const voidBatchesMax = 3;

/**
 * Remembers every evaluation of a run, so that none is paid twice, and counts batches that are void
 * because too many rows had an error.
 */
export class Evaluator {
  readonly #deps: ScoreDeps & { concurrency: number };
  readonly #known = new Map<string, Map<string, Evaluation[]>>();
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

  samplesOf(candidateHash: string, rowKey: string): readonly Evaluation[] {
    return this.#known.get(candidateHash)?.get(rowKey) ?? [];
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

  #samples(candidateHash: string, rows: readonly Row[]): Evaluation[] {
    return rows.flatMap(({ key }) => this.samplesOf(candidateHash, key));
  }

  async #evaluateTasks(tasks: readonly RowTask[], batch: () => Evaluation[]): Promise<boolean> {
    const { ports, concurrency } = this.#deps;
    const { results, limit } = await runInOrder(tasks, concurrency, (task) => scoreRow(this.#deps, task));
    const evaluations = results.filter((each) => each !== undefined);
    for (const evaluation of evaluations) this.#remember(evaluation);
    if (evaluations.length > 0) await ports.emit({ type: 'evaluations', evaluations });
    if (limit !== undefined) throw limit;
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

  #remember(evaluation: Evaluation): void {
    const { candidateHash, rowKey } = evaluation;
    const rows = this.#known.get(candidateHash) ?? new Map<string, Evaluation[]>();
    this.#known.set(candidateHash, rows.set(rowKey, [...(rows.get(rowKey) ?? []), evaluation]));
  }
}
