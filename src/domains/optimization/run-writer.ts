import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { Progress, SearchEvent } from '../prompt-search/index.ts';
import { saveCandidate, saveEvaluations } from './candidate-store.ts';
import { candidateToEvent, progressToWire } from './event-data.ts';
import { type Lease, LeaseLost } from './lease.ts';
import { patiently } from './patiently.ts';
import { lockUnder, storeProgress } from './progress-store.ts';
import type { Run, RunWarning } from './run.ts';
import { insertRunEvents, type RunEvent } from './run-event-store.ts';

const progressEveryMs = 1_000;
const scoresMax = 1_000;
const warningsMax = 50;

/** Stores what a search reports, for readers of the run. Progress is stored at most once a second. */
export class RunWriter {
  readonly #postgres: Postgres;
  readonly #lease: Lease;
  readonly #signal: AbortSignal;
  readonly #callsMax: number | null;
  /** Calls that earlier attempts have made. Until a replay has made as many, its progress is old. */
  readonly #knownCalls: number;
  readonly #warnings: RunWarning[];
  readonly #scores: { call: number; best_val: number }[] = [];
  #progress: Progress;
  #fraction: number;
  #storedAtMs = Number.NEGATIVE_INFINITY;

  constructor({ postgres, lease, run, signal }: { postgres: Postgres; lease: Lease; run: Run; signal: AbortSignal }) {
    this.#postgres = postgres;
    this.#lease = lease;
    this.#signal = signal;
    this.#knownCalls = run.usage.calls;
    this.#callsMax = run.config.budget.maxCalls;
    this.#warnings = [...run.warnings];
    this.#progress = run.progress;
    this.#fraction = run.progress.fraction;
  }

  /** @throws LeaseLost, and the reason of the signal */
  async note(event: SearchEvent, callsUsed: number): Promise<void> {
    if (event.type === 'candidate') {
      await this.#write(async (transaction) => {
        const changed = await saveCandidate(transaction, this.#lease, event.candidate);
        return changed ? [{ type: 'candidate', data: candidateToEvent(event.candidate) }] : [];
      });
      return;
    }
    if (event.type === 'evaluations') {
      await this.#write(async (transaction) => {
        await saveEvaluations(transaction, this.#lease, event.evaluations);
        return [];
      });
      return;
    }
    if (event.type === 'score' && this.#scores.length < scoresMax) {
      this.#scores.push({ call: event.call, best_val: event.bestVal });
    }
    if (event.type === 'warning') this.warn(event);
    if (event.type === 'progress') this.#progress = event.progress;
    const isDue = performance.now() - this.#storedAtMs >= progressEveryMs;
    if (isDue && callsUsed >= this.#knownCalls) await this.flush(callsUsed);
  }

  /** Adds a warning to the run. Equal ones are one. */
  warn({ code, message }: RunWarning): void {
    const isKnown = this.#warnings.some((each) => each.code === code && each.message === message);
    if (!isKnown && this.#warnings.length < warningsMax) this.#warnings.push({ code, message });
  }

  /** Stores the progress now. */
  async flush(callsUsed: number): Promise<void> {
    this.#storedAtMs = performance.now();
    const isFinal = this.#progress.phase === 'finalizing';
    const share = isFinal ? 1 : Math.min(1, this.#callsMax === null ? 0 : callsUsed / this.#callsMax);
    this.#fraction = Math.max(this.#fraction, share);
    const progress = { ...this.#progress, fraction: this.#fraction, updatedAt: new Date().toISOString() };
    const [warnings, scores] = [this.#warnings, this.#scores];
    await this.#write(async (transaction) => {
      await storeProgress(transaction, this.#lease, { progress, warnings, scores });
      return [{ type: 'progress', data: progressToWire(progress, callsUsed) }];
    });
  }

  /** Writes while the run is locked and the lease is held. */
  async #write(write: (transaction: Postgres) => Promise<Omit<RunEvent, 'seq'>[]>): Promise<void> {
    const writing = () =>
      inTransaction(this.#postgres, async (transaction) => {
        if (!(await lockUnder(transaction, this.#lease))) throw new LeaseLost();
        await insertRunEvents(transaction, this.#lease, await write(transaction));
      });
    await patiently(this.#signal, writing);
  }
}
