import { LRUCache } from 'lru-cache';
import type { Logger } from '../../telemetry/logger.ts';

/** A key's last use is written at most this often, so the stored time may be this much too old. */
const everyMs = 60_000;
/** Time for which uses are collected before they are written. */
const gatherMs = 500;
const keysMax = 20_000;

/** Collects which keys were used and writes that in batches, throttled. No request waits for it. */
export class KeyUses {
  readonly #write: (keyIds: readonly string[]) => Promise<void>;
  readonly #logger: Logger;
  readonly #notedAtMs = new LRUCache<string, number>({ max: keysMax });
  readonly #pending = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { write: (keyIds: readonly string[]) => Promise<void>; logger: Logger }) {
    this.#write = options.write;
    this.#logger = options.logger;
  }

  note(keyId: string): void {
    const nowMs = performance.now();
    const notedAtMs = this.#notedAtMs.get(keyId);
    if (notedAtMs !== undefined && nowMs - notedAtMs < everyMs) return;
    this.#notedAtMs.set(keyId, nowMs);
    this.#pending.add(keyId);
    this.#timer ??= setTimeout(() => void this.flush(), gatherMs).unref();
  }

  /**
   * Writes the collected uses. Never rejects: after a failed write the next use of the key is noted
   * again.
   */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const keyIds = [...this.#pending];
    this.#pending.clear();
    if (keyIds.length === 0) return;
    try {
      await this.#write(keyIds);
    } catch (error) {
      for (const keyId of keyIds) this.#notedAtMs.delete(keyId);
      this.#logger.warn({ err: error, keys: keyIds.length }, 'the last use of keys could not be written');
    }
  }
}
