import { LRUCache } from 'lru-cache';

const hourMs = 3_600_000;
/** A forgotten key is told again. */
const keysMax = 10_000;

interface Notice {
  sinceMs: number;
  count: number;
  /** Undefined until the key was told. */
  toldAtMs: number | undefined;
}

/** What is accepted and not kept, which each key is told at most once an hour by this process. */
export class HourlyNotices {
  readonly #byKey = new LRUCache<string, Notice>({ max: keysMax });

  /**
   * Counts what a request of the key brought. Returns how much there is to tell now, and since when,
   * or undefined when there is nothing to tell or the key was told within the last hour.
   */
  take(keyId: string, count: number, nowMs: number): { count: number; since: string } | undefined {
    if (count === 0) return undefined;
    const notice = this.#byKey.get(keyId) ?? { sinceMs: nowMs, count: 0, toldAtMs: undefined };
    this.#byKey.set(keyId, notice);
    if (notice.count === 0) notice.sinceMs = nowMs;
    notice.count += count;
    if (notice.toldAtMs !== undefined && nowMs - notice.toldAtMs < hourMs) return undefined;
    const told = { count: notice.count, since: `${new Date(notice.sinceMs).toISOString().slice(11, 16)} UTC` };
    notice.count = 0;
    notice.toldAtMs = nowMs;
    return told;
  }
}
