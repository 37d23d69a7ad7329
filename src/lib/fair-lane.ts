import { setMaxListeners } from 'node:events';
import type { EnterOptions, FairLaneOptions } from './fair-lane-options.ts';
import { allTooMany, LaneCompany, ownTooMany, tooLate } from './lane-keys.ts';

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
    if (this.#mustWait(state, { cost: 1 })) this.#refuseWhenFull(state, 1);
  }

  /** Takes a place at once, also without room: for work that cannot be refused any more. Returns as {@link enter} does. */
  take(key: string, cost: number): () => void {
    const state = this.#stateOf(key);
    const entry = this.#entryOf(state, cost);
    this.#start(state, entry);
    return this.#leaveOnce(key, state, entry);
  }

  /**
   * Waits for a turn. Throws as {@link run}.
   * @returns a function that gives the place back; further calls do nothing
   */
  async enter(key: string, options: EnterOptions = {}): Promise<() => void> {
    this.#company.note(key);
    const state = this.#stateOf(key);
    const entry = this.#entryOf(state, options.cost ?? 1);
    if (this.#mustWait(state, entry)) await this.#wait(key, state, entry, options.waiter?.signal);
    else this.#start(state, entry);
    return this.#leaveOnce(key, state, entry);
  }

  #leaveOnce(key: string, state: Key, { cost }: Entry): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#release(key, state, cost);
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
    const { perKey, waitingPerKey, waitingMax } = this.#options;
    // When no work may wait at all, the workspace is the cause only if it holds too much itself.
    const isOwn = waitingPerKey > 0 || state.held + cost > perKey;
    if (isOwn && state.waiting.length >= waitingPerKey) throw ownTooMany(this.#options);
    if (!isOwn || this.#waiting >= waitingMax) throw allTooMany(this.#options);
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

  #tooLate(state: Key, entry: Entry): Error {
    return tooLate(this.#options, state.waiting[0] !== entry || state.held + entry.cost > this.#mostOfKey);
  }

  /** Work that comes later does not pass large work that waits for room, or that would wait for as long as small work comes. */
  #mustWait(state: Key, entry: Pick<Entry, 'cost'>): boolean {
    return state.waiting.length > 0 || !this.#fits(state, entry) || (this.#waiting > 0 && this.isFull);
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
    while (this.#held < this.#options.capacity) {
      const next = this.#next();
      if (next === undefined) return;
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
