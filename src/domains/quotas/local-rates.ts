import { LRUCache } from 'lru-cache';
import type { LimitOutcome, LimitResult, RateCheck } from './limit-check.ts';

interface Level {
  units: number;
  atMs: number;
}

const keysMax = 10_000;

/** Rates of this process alone, calculated as in Redis. They apply while Redis is unavailable. */
export class LocalRates {
  readonly #levels = new LRUCache<string, Level>({ max: keysMax });
  readonly #nowMs: () => number;

  /** `nowMs` must be monotonic. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Takes the costs from all limits or from none. */
  check(checks: readonly RateCheck[]): LimitOutcome {
    const atMs = this.#nowMs();
    const levels = checks.map((check) => this.#levelOf(check, atMs));
    const granted = checks.every((check, index) => fits(check, levels[index] ?? 0));
    const results = checks.map((check, index) => {
      const level = levels[index] ?? 0;
      if (granted && check.cost > 0) this.#levels.set(check.key, { units: level + check.cost, atMs });
      return resultOf(check, level, granted);
    });
    return { granted, results };
  }

  #levelOf({ key, limit, windowMs }: RateCheck, atMs: number): number {
    const kept = this.#levels.get(key);
    return kept === undefined ? 0 : Math.max(0, kept.units - ((atMs - kept.atMs) * limit) / windowMs);
  }
}

function fits({ cost, limit }: RateCheck, level: number): boolean {
  return cost === 0 || level + cost <= limit;
}

function resultOf(check: RateCheck, before: number, granted: boolean): LimitResult {
  const { cost, limit, windowMs } = check;
  const level = granted ? before + cost : before;
  const retryMs = cost > limit ? windowMs : Math.ceil(((before + cost - limit) * windowMs) / limit);
  return {
    check,
    remaining: Math.floor(limit - level),
    resetMs: limit === 0 ? 0 : Math.ceil((level * windowMs) / limit),
    retryMs: fits(check, before) ? 0 : retryMs,
  };
}
