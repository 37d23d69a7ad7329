import type { Logger } from '../src/telemetry/logger.ts';

const everyMs = 5_000;
/** Maximum kinds of messages that are distinguished. When it is reached, all kinds are forgotten. */
const kindsMax = 1_000;

/**
 * Logs at most one warning per kind in five seconds. The next line gives the number of lines left
 * out.
 */
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
