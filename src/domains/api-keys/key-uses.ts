import type { Postgres } from '../../stores/postgres/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { touchApiKeys } from './api-key-store.ts';

const noteEveryMs = 60_000;
const flushEveryMs = 1_000;
const keysMax = 20_000;

/**
 * When keys were last used, noted in the database at most once per key and minute. A request only marks its key in memory;
 * marks are written together, later, and lost when the process dies.
 */
export class KeyUses {
  readonly #deps: { postgres: Postgres; logger: Logger; nowMs?: () => number };
  readonly #notedAtMs = new Map<string, number>();
  #marked = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: { postgres: Postgres; logger: Logger; nowMs?: () => number }) {
    this.#deps = deps;
  }

  mark(keyId: string): void {
    const nowMs = this.#nowMs();
    if (nowMs - (this.#notedAtMs.get(keyId) ?? Number.NEGATIVE_INFINITY) < noteEveryMs) return;
    if (this.#notedAtMs.size >= keysMax) this.#notedAtMs.clear();
    this.#notedAtMs.set(keyId, nowMs);
    this.#marked.add(keyId);
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), flushEveryMs);
    this.#timer.unref();
  }

  /** Writes what is marked. Never throws: keys whose use could not be written are marked by their next use. */
  async flush(): Promise<void> {
    if (this.#marked.size === 0) return;
    const ids = [...this.#marked];
    this.#marked = new Set();
    try {
      await touchApiKeys(this.#deps.postgres, ids);
    } catch (error) {
      for (const id of ids) this.#notedAtMs.delete(id);
      this.#deps.logger.debug({ err: error, keys: ids.length }, 'uses of keys were not noted');
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  #nowMs(): number {
    return this.#deps.nowMs?.() ?? Date.now();
  }
}
