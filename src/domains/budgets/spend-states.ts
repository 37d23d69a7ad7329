import { LRUCache } from 'lru-cache';
import { RateLimitedError } from '../../lib/errors.ts';
import { within } from '../../lib/within.ts';
import { type Budget, budgetTag, type Period, periodOf } from './budget.ts';
import type { Spend } from './spend-queries.ts';

const statesMax = 5_000;
const stateLifeMs = 30_000;
/** So old may a state be that is used while the next one is read, without a wait for that. */
const unwaitedMs = 60_000;
/** So old may a state be that is used because the next one is late or cannot be read. */
const staleOnErrorMs = 10 * 60_000;
/** After a failed read, none is tried for this time. */
const failureLifeMs = 5_000;
/** After one that had no place among those of its workspace. */
const busyLifeMs = 250;
/** A caller waits so long for a state that is not cached, or too old. */
const patienceMs = 1_500;

/** What has been spent in a period. */
export interface SpendState {
  spend: Spend;
  period: Period;
}

interface Entry {
  last: { state: SpendState; readAtMs: number } | undefined;
  /** Resolves when `last` is new, or the read has failed. */
  reading: Promise<void> | undefined;
  retryAtMs: number;
}

export interface SpendStatesDeps {
  read: (budget: Budget, period: Period) => Promise<Spend>;
  onFailure: (error: unknown, budget: Budget) => void;
}

/**
 * Caches what has been spent of each version of a budget in its period. Within a period the spend grows, so an old
 * state that exceeds a limit still tells that the limit is used up.
 */
export class SpendStates {
  readonly #deps: SpendStatesDeps;
  readonly #entries = new LRUCache<string, Entry>({ max: statesMax });

  constructor(deps: SpendStatesDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the state of the current period. It is at most a minute old; while a read is late or fails, up to ten
   * minutes. Undefined if there is none.
   */
  async find(budget: Budget): Promise<SpendState | undefined> {
    const period = periodOf(budget, Date.now());
    const entry = this.#entryOf(`${budget.projectId} ${budgetTag(budget)} ${period.startMs}`);
    if (ageOf(entry) < stateLifeMs || performance.now() < entry.retryAtMs) return lastOf(entry);
    entry.reading ??= this.#read(entry, budget, period);
    const { reading } = entry;
    if (ageOf(entry) >= unwaitedMs) await within(patienceMs, () => reading).catch(() => undefined);
    return lastOf(entry);
  }

  #entryOf(key: string): Entry {
    const held = this.#entries.get(key);
    if (held !== undefined) return held;
    const entry: Entry = { last: undefined, reading: undefined, retryAtMs: 0 };
    this.#entries.set(key, entry);
    return entry;
  }

  /** Never rejects. */
  async #read(entry: Entry, budget: Budget, period: Period): Promise<void> {
    const readAtMs = performance.now();
    try {
      entry.last = { state: { spend: await this.#deps.read(budget, period), period }, readAtMs };
    } catch (error) {
      const isBusy = error instanceof RateLimitedError;
      entry.retryAtMs = performance.now() + (isBusy ? busyLifeMs : failureLifeMs);
      if (!isBusy) this.#deps.onFailure(error, budget);
    } finally {
      entry.reading = undefined;
    }
  }
}

function ageOf({ last }: Entry): number {
  return last === undefined ? Number.POSITIVE_INFINITY : performance.now() - last.readAtMs;
}

function lastOf(entry: Entry): SpendState | undefined {
  return ageOf(entry) < staleOnErrorMs ? entry.last?.state : undefined;
}
