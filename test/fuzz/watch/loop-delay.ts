import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A time in which an event loop did nothing else; see `loop-delay-preload.mjs`. */
export interface Stall {
  endedAtMs: number;
  ms: number;
  /** Of the main thread, meanwhile; null where the system does not tell. */
  cpuMs: number | null;
}

/** Reads the stalls of one process as they are written. */
export class LoopDelays {
  readonly #directory: string;
  readonly #readUpTo = new Map<number, number>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Those that were written since the last call for this process. */
  take(pid: number): Stall[] {
    const file = join(this.#directory, String(pid));
    if (!existsSync(file)) return [];
    const text = readFileSync(file, 'utf8');
    const fresh = text.slice(this.#readUpTo.get(pid) ?? 0, text.lastIndexOf('\n') + 1);
    this.#readUpTo.set(pid, text.lastIndexOf('\n') + 1);
    return fresh.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Stall]));
  }
}

/** Whether the process itself was at work for that long: on a busy machine it may only have waited for its turn. */
export function isOwnWork({ ms, cpuMs }: Stall, stallMsMax: number): boolean {
  return Math.min(ms, cpuMs ?? ms) > stallMsMax;
}
