import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { Progress, SearchEvent } from '../prompt-search/index.ts';
import { saveCandidate, saveEvaluations } from './candidate-store.ts';
import { candidateToEvent, progressToWire } from './event-data.ts';
import { type Lease, LeaseLost } from './lease.ts';
import { patiently } from './patiently.ts';
import { lockUnder, storeProgress } from './progress-store.ts';
import type { Run, RunProgress, RunWarning } from './run.ts';
import { insertRunEvents, type RunEvent } from './run-event-store.ts';

const progressEveryMs = 1_000;
const scoresMax = 1_000;
const warningsMax = 50;

/** Writes in a transaction, and returns the events of it. */
type Write = (transaction: Postgres) => Promise<Omit<RunEvent, 'seq'>[]>;

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
  /** What the last claim of the run has stored, which a report of the search does not have. */
  readonly #claimed: Pick<RunProgress, 'idleMs'>;
  #progress: Progress;
  #fraction: number;
  #storedAtMs = Number.NEGATIVE_INFINITY;
  /** Whether something is not stored yet. */
  #isPending = false;

  constructor({ postgres, lease, run, signal }: { postgres: Postgres; lease: Lease; run: Run; signal: AbortSignal }) {
    this.#postgres = postgres;
    this.#lease = lease;
    this.#signal = signal;
    this.#knownCalls = run.usage.calls;
    this.#callsMax = run.config.budget.maxCalls;
    this.#warnings = [...run.warnings];
    const { idleMs } = run.progress;
    this.#claimed = idleMs === undefined ? {} : { idleMs };
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
    this.#isPending = true;
    // The progress of a score follows it. Until then, the score is new and the best candidate is old.
    if (event.type !== 'progress') return;
    this.#progress = event.progress;
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
    await this.#store(callsUsed, (write) => this.#write(write));
  }

  /**
   * Stores what came within a second of what was stored last, before a run ends without a result: nobody reports it again.
   * Tries once. During a replay, what is stored is newer.
   */
  async flushPending(callsUsed: number): Promise<void> {
    if (!this.#isPending || callsUsed < this.#knownCalls) return;
    await this.#store(callsUsed, (write) => this.#writeOnce(write)).catch(() => undefined);
  }

  async #store(callsUsed: number, store: (write: Write) => Promise<void>): Promise<void> {
    this.#isPending = false;
    this.#storedAtMs = performance.now();
    const isFinal = this.#progress.phase === 'finalizing';
    const share = isFinal ? 1 : Math.min(1, this.#callsMax === null ? 0 : callsUsed / this.#callsMax);
    this.#fraction = Math.max(this.#fraction, share);
    const updatedAt = new Date().toISOString();
    const progress = { ...this.#progress, ...this.#claimed, fraction: this.#fraction, updatedAt };
    const [warnings, scores] = [this.#warnings, this.#scores];
    await store(async (transaction) => {
      await storeProgress(transaction, this.#lease, { progress, warnings, scores });
      return [{ type: 'progress', data: progressToWire(progress, callsUsed) }];
    });
  }

  async #write(write: Write): Promise<void> {
    await patiently(this.#signal, () => this.#writeOnce(write));
  }

  /** Writes while the run is locked and the lease is held. */
  #writeOnce(write: Write): Promise<void> {
    return inTransaction(this.#postgres, async (transaction) => {
      if (!(await lockUnder(transaction, this.#lease))) throw new LeaseLost();
      await insertRunEvents(transaction, this.#lease, await write(transaction));
    });
  }
}
