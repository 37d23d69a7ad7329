import { setMaxListeners } from 'node:events';
import { RateLimitedError, UnavailableError } from './errors.ts';
import type { EnterOptions, FairLaneOptions } from './fair-lane-options.ts';
import { LaneCompany } from './lane-company.ts';

const lateRetryAfterS = 5;

interface Entry {
  cost: number;
  startTag: number;
  begin: () => void;
  stopWaiting: () => void;
}

interface Key {
  held: number;
  waiting: Entry[];
  lastFinishTag: number;
}

/**
 * A bounded resource that is shared between keys, which are workspaces nearly everywhere. One key
 * holds at most `perKey`. Waiting work is served in turn between keys, by cost (start-time fair
 * queuing, Goyal, Vin and Cheng 1996), and in order within a key.
 */
export class FairLane {
  readonly #options: FairLaneOptions;
  readonly #keys = new Map<string, Key>();
  readonly #company = new LaneCompany();
  #held = 0;
  #waiting = 0;
  #virtualTime = 0;

  constructor(options: FairLaneOptions) {
    this.#options = { ...options, perKey: Math.min(options.perKey, options.capacity) };
  }

  /** Number of pieces of work that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Tells whether the next piece of work waits because the lane is full. Work that waits because its own key holds
   * its maximum does not count: the places of other keys do not help it.
   */
  get isFull(): boolean {
    return this.#next() !== undefined;
  }

  /** Total cost of the work that runs. */
  get held(): number {
    return this.#held;
  }

  /**
   * Runs `work` in its turn.
   * @throws RateLimitedError `workspace_busy` when the key has too much work waiting, or when its
   * own work delayed this work for too long
   * @throws UnavailableError `server_busy` when all keys together have too much work waiting or
   * delayed this work for too long
   * @throws what `whyStuck` returns, instead of these two
   * @throws the reason of the waiter's signal, and what `work` throws
   */
  async run<T>(key: string, work: () => Promise<T>, options: EnterOptions = {}): Promise<T> {
    const leave = await this.enter(key, options);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /**
   * Throws as {@link run} would if work of the key had to wait now and the lane had no room for it.
   * Takes no place.
   */
  assertRoom(key: string): void {
    const state = this.#keys.get(key) ?? newKey();
    const waits = state.waiting.length > 0 || !this.#fits(state, { cost: 1 });
    if (waits) this.#refuseWhenFull(state, 1);
  }

  /**
   * Waits for a turn. Throws as {@link run}.
   * @returns a function that gives the place back; further calls do nothing
   */
  async enter(key: string, options: EnterOptions = {}): Promise<() => void> {
    this.#company.note(key);
    const state = this.#stateOf(key);
    const entry = this.#entryOf(state, options.cost ?? 1);
    if (state.waiting.length > 0 || !this.#fits(state, entry))
      await this.#wait(key, state, entry, options.waiter?.signal);
    else this.#start(state, entry);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#release(key, state, entry.cost);
    };
  }

  #stateOf(key: string): Key {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    const state = newKey();
    this.#keys.set(key, state);
    return state;
  }

  #entryOf(state: Key, givenCost: number): Entry {
    const cost = Math.min(givenCost, this.#options.perKey);
    const startTag = Math.max(this.#virtualTime, state.lastFinishTag);
    return { cost, startTag, begin: nothing, stopWaiting: nothing };
  }

  #refuseWhenFull(state: Key, cost: number): void {
    const { name, perKey, waitingPerKey, waitingMax, whyStuck } = this.#options;
    // When no work may wait at all, the workspace is the cause only if it holds too much itself.
    const isOwn = waitingPerKey > 0 || state.held + cost > perKey;
    if (isOwn && state.waiting.length >= waitingPerKey) {
      const has =
        waitingPerKey === 0
          ? `the maximum number of ${name} in progress`
          : `${waitingPerKey} ${name} waiting, which is the limit`;
      const message = `This workspace already has ${has}. Try again in a moment.`;
      throw whyStuck?.() ?? new RateLimitedError('workspace_busy', message, { retryAfterS: 1 });
    }
    if (!isOwn || this.#waiting >= waitingMax) {
      const message = `The maximum number of ${name} is already waiting. Try again in a moment.`;
      throw whyStuck?.() ?? new UnavailableError('server_busy', message, { retryAfterS: 1 });
    }
  }

  #wait(key: string, state: Key, entry: Entry, signal: AbortSignal | undefined): Promise<void> {
    try {
      signal?.throwIfAborted();
      this.#refuseWhenFull(state, entry.cost);
    } catch (error) {
      this.#forgetIdle(key, state);
      throw error;
    }
    state.lastFinishTag = entry.startTag + entry.cost;
    state.waiting.push(entry);
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const giveUp = (reason: unknown) => {
        entry.stopWaiting();
        state.waiting.splice(state.waiting.indexOf(entry), 1);
        this.#waiting--;
        reject(reason);
        this.#startWaiting();
        this.#forgetIdle(key, state);
      };
      const onAbort = () => giveUp(signal?.reason);
      const { waitMsMax } = this.#options;
      const timer = waitMsMax && setTimeout(() => giveUp(this.#tooLate(state, entry)), waitMsMax);
      entry.stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      entry.begin = () => {
        entry.stopWaiting();
        resolve();
      };
      if (signal !== undefined) {
        // One request may have many pieces of work waiting, which Node would report as a listener
        // leak.
        setMaxListeners(0, signal);
        signal.addEventListener('abort', onAbort, { once: true });
      }
    });
  }

  /**
   * Returns the error for work that waited too long. The key is the cause when its own work is
   * ahead, otherwise all keys are.
   */
  #tooLate(state: Key, entry: Entry): Error {
    const { name, waitMsMax = 0, whyStuck } = this.#options;
    const waited = `did not start within ${waitMsMax / 1000} s`;
    const isOwn = state.waiting[0] !== entry || state.held + entry.cost > this.#mostOfKey;
    const message = `${isOwn ? 'This workspace has' : 'There are'} so many ${name} in progress that this one ${waited}. Try again later.`;
    const late = { retryAfterS: lateRetryAfterS };
    if (isOwn) return whyStuck?.() ?? new RateLimitedError('workspace_busy', message, late);
    return whyStuck?.() ?? new UnavailableError('server_busy', message, late);
  }

  #fits(state: Key, { cost }: Pick<Entry, 'cost'>): boolean {
    return state.held + cost <= this.#options.perKey && this.#held + cost <= this.#options.capacity;
  }

  #start(state: Key, entry: Entry): void {
    state.held += entry.cost;
    this.#held += entry.cost;
    this.#virtualTime = Math.max(this.#virtualTime, entry.startTag);
    state.lastFinishTag = Math.max(state.lastFinishTag, entry.startTag + entry.cost);
    entry.begin();
  }

  #release(key: string, state: Key, cost: number): void {
    state.held -= cost;
    this.#held -= cost;
    this.#startWaiting();
    this.#forgetIdle(key, state);
  }

  #forgetIdle(key: string, state: Key): void {
    if (state.held === 0 && state.waiting.length === 0 && this.#keys.get(key) === state) this.#keys.delete(key);
  }

  /**
   * Starts waiting work. The next piece in turn starts as soon as it fits. Other waiting work
   * passes it only if its key holds its maximum.
   */
  #startWaiting(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [state, entry] = next;
      if (this.#held + entry.cost > this.#options.capacity) return;
      state.waiting.shift();
      this.#waiting--;
      this.#start(state, entry);
    }
  }

  /** What one key may hold now. */
  get #mostOfKey(): number {
    const { perKey, perBusyKey = perKey } = this.#options;
    return this.#company.isShared ? perBusyKey : perKey;
  }

  #next(): [Key, Entry] | undefined {
    const most = this.#mostOfKey;
    let next: [Key, Entry] | undefined;
    for (const state of this.#keys.values()) {
      const [head] = state.waiting;
      if (head === undefined || (state.held > 0 && state.held + head.cost > most)) continue;
      if (next === undefined || head.startTag < next[1].startTag) next = [state, head];
    }
    return next;
  }
}

const nothing = () => undefined;
const newKey = (): Key => ({ held: 0, waiting: [], lastFinishTag: 0 });
