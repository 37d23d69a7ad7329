import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A time during which an event loop was blocked. See `loop-delay-preload.mjs`. */
export interface Stall {
  endedAtMs: number;
  ms: number;
  /** CPU time of the main thread during the stall. Null if the system does not report it. */
  cpuMs: number | null;
}

/** Reads the stalls of one process as they are written. */
export class LoopDelays {
  readonly #directory: string;
  readonly #readUpTo = new Map<number, number>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns the stalls that were written since the last call for this process. */
  take(pid: number): Stall[] {
    const file = join(this.#directory, String(pid));
    if (!existsSync(file)) return [];
    const text = readFileSync(file, 'utf8');
    const fresh = text.slice(this.#readUpTo.get(pid) ?? 0, text.lastIndexOf('\n') + 1);
    this.#readUpTo.set(pid, text.lastIndexOf('\n') + 1);
    return fresh.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Stall]));
  }
}

/**
 * Returns whether the process itself used the processor for that long. On a busy machine, it may
 * only have waited for a processor.
 */
export function isOwnWork({ ms, cpuMs }: Stall, stallMsMax: number): boolean {
  return Math.min(ms, cpuMs ?? ms) > stallMsMax;
}
