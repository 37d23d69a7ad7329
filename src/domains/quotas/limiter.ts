import { LRUCache } from 'lru-cache';
import { UnavailableError } from '../../lib/errors.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Draw, DrawOutcome, DrawResult, RateDraw } from './draw.ts';
import { drawInRedis } from './draw-in-redis.ts';
import { LocalRates } from './local-rates.ts';

/**
 * After a failure Redis is not asked for this time. Then one request at a time asks it, so that the
 * others need not wait.
 */
const awayMs = 1_000;
/**
 * A used-up limit is refused for this time without asking Redis. It is short because quotas may be
 * given back and plans change within a second.
 */
const rememberedMsMax = 1_000;
const rememberedMax = 10_000;

interface UsedUp {
  result: DrawResult;
  atMs: number;
  untilMs: number;
}

/**
 * Draws on limits in Redis. Remembers used-up limits briefly, so that a flood of refused requests
 * needs no round trips.
 */
export class Limiter {
  readonly #redis: Redis;
  readonly #logger: Logger;
  readonly #local = new LocalRates();
  readonly #usedUp = new LRUCache<string, UsedUp>({ max: rememberedMax });
  #awayUntilMs = 0;
  #away = false;

  constructor({ redis, logger }: { redis: Redis; logger: Logger }) {
    this.#redis = redis;
    this.#logger = logger;
  }

  /**
   * Draws on all limits or on none. Fails closed.
   * @throws UnavailableError within about a second when Redis is unavailable
   */
  async draw(draws: readonly Draw[]): Promise<DrawOutcome> {
    const refused = this.refusal(draws);
    if (refused !== undefined) return refused;
    if (draws.length === 0) return { granted: true, results: [] };
    const nowMs = performance.now();
    if (this.#away) {
      if (nowMs < this.#awayUntilMs) throw limitsAway();
      this.#awayUntilMs = nowMs + awayMs;
    }
    try {
      const outcome = await drawInRedis(this.#redis, draws);
      this.#noteAway(false);
      for (const result of outcome.results) this.#remember(result);
      return outcome;
    } catch (error) {
      this.#noteAway(true, error);
      throw limitsAway(error);
    }
  }

  /**
   * Like {@link draw}, but fails open: while Redis is unavailable, this process alone applies the
   * same rates.
   */
  async drawOpen(draws: readonly RateDraw[]): Promise<DrawOutcome> {
    try {
      return await this.draw(draws);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return this.#local.draw(draws);
    }
  }

  /**
   * Returns the refusal if a draw is known to be refused, without asking Redis. Returns undefined
   * if that is not known.
   */
  refusal(draws: readonly Draw[]): DrawOutcome | undefined {
    const nowMs = performance.now();
    for (const draw of draws) {
      const known = draw.cost > 0 ? this.#usedUp.get(draw.key) : undefined;
      if (known === undefined || known.untilMs <= nowMs || known.result.draw.limit !== draw.limit) continue;
      return { granted: false, results: [later(known, draw, nowMs - known.atMs)] };
    }
    return undefined;
  }

  #remember(result: DrawResult): void {
    if (result.remaining >= 1) return;
    const atMs = performance.now();
    const knownMs = Math.min(rememberedMsMax, untilOneFitsMs(result));
    if (knownMs > 0) this.#usedUp.set(result.draw.key, { result, atMs, untilMs: atMs + knownMs });
  }

  #noteAway(away: boolean, error?: unknown): void {
    if (away) this.#awayUntilMs = performance.now() + awayMs;
    if (away === this.#away) return;
    this.#away = away;
    if (away) this.#logger.warn({ err: error }, 'limits cannot be kept in Redis, every process keeps its own');
    else this.#logger.info('limits are kept in Redis again');
  }
}

/** Returns the time until one unit fits, from the level that `resetMs` expresses. */
function untilOneFitsMs({ draw, resetMs }: DrawResult): number {
  if (draw.kind === 'quota' || draw.limit === 0) return rememberedMsMax;
  return resetMs - ((draw.limit - 1) * draw.windowMs) / draw.limit;
}

/** Converts a remembered used-up limit to the result for another draw, `passedMs` later. */
function later({ result }: UsedUp, draw: Draw, passedMs: number): DrawResult {
  const resetMs = Math.max(0, Math.round(result.resetMs - passedMs));
  if (draw.kind === 'quota') return { draw, remaining: result.remaining, resetMs: 0, retryMs: 0 };
  const { cost, limit, windowMs } = draw;
  const retryMs = cost > limit ? windowMs : resetMs - ((limit - cost) * windowMs) / limit;
  return { draw, remaining: 0, resetMs, retryMs: Math.max(1, Math.ceil(retryMs)) };
}

function limitsAway(cause?: unknown): UnavailableError {
  return new UnavailableError('dependency_unavailable', 'Limits cannot be checked right now; try again.', {
    retryAfterS: 1,
    cause,
  });
}
