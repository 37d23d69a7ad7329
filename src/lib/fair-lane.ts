import { setMaxListeners } from 'node:events';
import { RateLimitedError, UnavailableError } from './errors.ts';
import { LaneCompany } from './lane-company.ts';

export interface FairLaneOptions {
  /** What the lane does, for messages: "renders", "reads of executions". */
  name: string;
  /** The cost of all work that may run at once. */
  capacity: number;
  /** The cost of the work of one key that may run at once. Work that costs more counts as this much. */
  perKey: number;
  /** The same for a key that wants more than it has while others use the lane: who asks for little then waits less for the resource itself. */
  perBusyKey?: number;
  /** How many pieces of work of one key may wait; with 0 nobody waits for a place, whoever holds it. */
  waitingPerKey: number;
  /** How many pieces of work may wait, all keys together. */
  waitingMax: number;
  /** Work that has not begun after so long is refused as if it had found the lane full. Without it, work waits until its turn. */
  waitMsMax?: number;
  /** Why work does not end now, such as an engine that is away: who is refused is told this instead of who holds the places. */
  whyStuck?: () => Error | undefined;
}

/**
 * For work that an HTTP request waits for. One passes four lanes at most, and is answered before its connection is closed for 60 s of
 * silence (see server.ts).
 */
export const requestWaitMsMax = 10_000;

/** Who waits for the work. `signal` is read only when the work has to wait, so a getter may make it. */
export interface Waiter {
  /** Aborted when they wait no longer: the work then leaves the lane without having run. */
  readonly signal: AbortSignal;
}

export interface EnterOptions {
  /** In the unit of `capacity`; 1 by default. */
  cost?: number;
  waiter?: Waiter | undefined;
}

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
 * A bounded resource that is shared by key, which is the workspace nearly everywhere. One key holds at most `perKey`; those who
 * wait are served in turn between keys, by cost (start-time fair queueing, Goyal, Vin and Cheng 1996), and in order within a key.
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

  /** How many pieces of work wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The cost of the work that runs. */
  get held(): number {
    return this.#held;
  }

  /**
   * Runs `work` in its turn. Throws RateLimitedError (`workspace_busy`) when the key has too much waiting, UnavailableError
   * (`server_busy`) when all keys together have, the one or the other when it waited too long, what `whyStuck` says instead of these,
   * the reason of the waiter's signal, and what `work` throws.
   */
  async run<T>(key: string, work: () => Promise<T>, options: EnterOptions = {}): Promise<T> {
    const leave = await this.enter(key, options);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Throws as {@link run} would if work of the key had to wait now and may not; takes no place. */
  assertRoom(key: string): void {
    const state = this.#keys.get(key) ?? newKey();
    const waits = state.waiting.length > 0 || !this.#fits(state, { cost: 1 });
    if (waits) this.#refuseWhenFull(state, 1);
  }

  /** Resolves in its turn to a function that gives the place back; calling it again does nothing. Throws as {@link run}. */
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
    // Where nobody may wait at all, it is the workspace's own doing only when it holds too much itself.
    const isOwn = waitingPerKey > 0 || state.held + cost > perKey;
    if (isOwn && state.waiting.length >= waitingPerKey) {
      const has = waitingPerKey === 0 ? `as many ${name} under way` : `${waitingPerKey} ${name} waiting`;
      const message = `This workspace has ${has} already, the most there may be; try again in a moment.`;
      throw whyStuck?.() ?? new RateLimitedError('workspace_busy', message, { retryAfterS: 1 });
    }
    if (!isOwn || this.#waiting >= waitingMax) {
      const message = `The most ${name} that may wait are waiting already; try again in a moment.`;
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
        // Many pieces of one request may wait, which Node takes for a leak.
        setMaxListeners(0, signal);
        signal.addEventListener('abort', onAbort, { once: true });
      }
    });
  }

  /** It is the key's own doing when its own work is before it, and otherwise that of all. */
  #tooLate(state: Key, entry: Entry): Error {
    const { name, perKey, waitMsMax = 0, whyStuck } = this.#options;
    const waited = `was not begun within ${waitMsMax / 1000} s`;
    const isOwn = state.waiting[0] !== entry || state.held + entry.cost > perKey;
    const message = `${isOwn ? 'This workspace has' : 'There are'} so many ${name} under way that this one ${waited}; try again later.`;
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

  /** The one that is next starts as soon as it fits; nothing overtakes it but for a key that holds all it may. */
  #startWaiting(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [state, entry] = next;
      if (this.#held + entry.cost > this.#options.capacity) return;
      state.waiting.shift();
      this.#waiting--;
      this.#start(state, entry);
    }
  }

  #next(): [Key, Entry] | undefined {
    const { perKey, perBusyKey = perKey } = this.#options;
    const most = this.#company.isShared ? perBusyKey : perKey;
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
