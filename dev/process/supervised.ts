import { setTimeout as delay } from 'node:timers/promises';
import { describeExit, type ProcessExit, type RunningProcess } from './child.ts';

export interface Stoppable extends RunningProcess {
  stop(): Promise<void>;
}

export interface SupervisionEvents {
  /**
   * Called when the process ended and will be started again. `fastDeaths` counts consecutive ends
   * within 10 s of the start.
   */
  onDeath(reason: string, fastDeaths: number): void;
  /** Called when the process runs again. */
  onRevival(pid: number): void;
}

const FAST_DEATH_MS = 10_000;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 2_000;

/** Returns the wait before the next start: none after a long run, otherwise doubling from 0.1 s to 2 s. */
export function backoffMs(fastDeaths: number): number {
  return fastDeaths === 0 ? 0 : Math.min(BACKOFF_FIRST_MS * 2 ** (fastDeaths - 1), BACKOFF_MAX_MS);
}

/** Starts one process again whenever it ends, until `stop`. */
export class Supervised {
  readonly #start: () => Promise<Stoppable>;
  readonly #events: SupervisionEvents;
  readonly #stopping = new AbortController();
  #process: Stoppable;
  #startedAtMs = Date.now();
  #fastDeaths = 0;
  #reviving: Promise<void> = Promise.resolve();

  /** Supervises a running process. `start` starts the next one. */
  constructor(running: Stoppable, start: () => Promise<Stoppable>, events: SupervisionEvents) {
    this.#process = running;
    this.#start = start;
    this.#events = events;
    this.#watch();
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Stops the process permanently. It may be called while the process is being started again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reviving;
    await this.#process.stop();
  }

  #watch(): void {
    void this.#process.exited.then((exit) => {
      if (!this.#stopping.signal.aborted) this.#reviving = this.#revive(exit);
    });
  }

  async #revive(exit: ProcessExit): Promise<void> {
    let reason = describeExit(exit);
    while (!this.#stopping.signal.aborted) {
      this.#fastDeaths = Date.now() - this.#startedAtMs < FAST_DEATH_MS ? this.#fastDeaths + 1 : 0;
      this.#events.onDeath(reason, this.#fastDeaths);
      await delay(backoffMs(this.#fastDeaths), undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
      this.#startedAtMs = Date.now();
      try {
        this.#process = await this.#start();
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
        continue;
      }
      this.#watch();
      this.#events.onRevival(this.#process.pid);
      return;
    }
  }
}
