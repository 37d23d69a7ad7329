import type { Logger } from '../src/telemetry/logger.ts';

const everyMs = 5_000;
/** Kinds that are told apart; more than these begin anew. */
const kindsMax = 1_000;

/** Warns at most once in five seconds about each kind of thing; the next line says how many were left out. */
export class QuietLog {
  readonly #logger: Logger;
  readonly #kinds = new Map<string, { atMs: number; leftOut: number }>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  warn(kind: string, facts: object, message: string): void {
    const nowMs = performance.now();
    const told = this.#kinds.get(kind);
    if (told !== undefined && nowMs - told.atMs < everyMs) {
      told.leftOut++;
      return;
    }
    if (this.#kinds.size >= kindsMax) this.#kinds.clear();
    this.#kinds.set(kind, { atMs: nowMs, leftOut: 0 });
    this.#logger.warn({ ...facts, ...(told && told.leftOut > 0 && { left_out: told.leftOut }) }, message);
  }
}
