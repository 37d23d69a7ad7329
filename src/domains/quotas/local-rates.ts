import { LRUCache } from 'lru-cache';
import type { DrawOutcome, DrawResult, RateDraw } from './draw.ts';

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

  /** Draws on all limits or on none. */
  draw(draws: readonly RateDraw[]): DrawOutcome {
    const atMs = this.#nowMs();
    const levels = draws.map((draw) => this.#levelOf(draw, atMs));
    const granted = draws.every((draw, index) => fits(draw, levels[index] ?? 0));
    const results = draws.map((draw, index) => {
      const level = levels[index] ?? 0;
      if (granted && draw.cost > 0) this.#levels.set(draw.key, { units: level + draw.cost, atMs });
      return resultOf(draw, level, granted);
    });
    return { granted, results };
  }

  #levelOf({ key, limit, windowMs }: RateDraw, atMs: number): number {
    const kept = this.#levels.get(key);
    return kept === undefined ? 0 : Math.max(0, kept.units - ((atMs - kept.atMs) * limit) / windowMs);
  }
}

function fits({ cost, limit }: RateDraw, level: number): boolean {
  return cost === 0 || level + cost <= limit;
}

function resultOf(draw: RateDraw, before: number, granted: boolean): DrawResult {
  const { cost, limit, windowMs } = draw;
  const level = granted ? before + cost : before;
  const retryMs = cost > limit ? windowMs : Math.ceil(((before + cost - limit) * windowMs) / limit);
  return {
    draw,
    remaining: Math.floor(limit - level),
    resetMs: limit === 0 ? 0 : Math.ceil((level * windowMs) / limit),
    retryMs: fits(draw, before) ? 0 : retryMs,
  };
}
