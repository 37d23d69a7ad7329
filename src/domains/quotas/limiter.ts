import { LRUCache } from 'lru-cache';
import { UnavailableError } from '../../lib/errors.ts';
import type { RedisClock } from '../../queue/redis-clock.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { checkInRedis, LateCheckError } from './check-in-redis.ts';
import type { LimitCheck, LimitOutcome, LimitResult, RateCheck } from './limit-check.ts';
import { LocalRates } from './local-rates.ts';

/**
 * After a failure Redis is not asked for this time. Then one request at a time asks it, so that the
 * others need not wait.
 */
const awayMs = 1_000;
/**
 * Redis may run a check until so long after it was sent, which is before its command times out: then the request is refused,
 * and must not be charged.
 */
const runMsMax = 800;
/**
 * A used-up limit is refused for this time without asking Redis. It is short because quotas may be
 * given back and plans change within a second.
 */
const rememberedMsMax = 1_000;
const rememberedMax = 10_000;

interface UsedUp {
  result: LimitResult;
  atMs: number;
  untilMs: number;
}

/**
 * Checks limits in Redis. Remembers used-up limits briefly, so that a flood of refused requests
 * needs no round trips.
 */
export class Limiter {
  readonly #redis: Redis;
  readonly #logger: Logger;
  readonly #clock: Pick<RedisClock, 'nowMs'>;
  readonly #local = new LocalRates();
  readonly #usedUp = new LRUCache<string, UsedUp>({ max: rememberedMax });
  #awayUntilMs = 0;
  #away = false;

  constructor({ redis, logger, clock }: { redis: Redis; logger: Logger; clock: Pick<RedisClock, 'nowMs'> }) {
    this.#redis = redis;
    this.#logger = logger;
    this.#clock = clock;
  }

  /**
   * Takes the costs from all limits or from none. Fails closed.
   * @throws UnavailableError within about a second when Redis is unavailable
   */
  async check(checks: readonly LimitCheck[]): Promise<LimitOutcome> {
    const refused = this.refusal(checks);
    if (refused !== undefined) return refused;
    if (checks.length === 0) return { granted: true, results: [] };
    const nowMs = performance.now();
    if (this.#away) {
      if (nowMs < this.#awayUntilMs) throw limitsAway();
      this.#awayUntilMs = nowMs + awayMs;
    }
    try {
      const outcome = await this.#checkInTime(checks);
      this.#noteAway(false);
      for (const result of outcome.results) {
        // After the body that used up a quota, the same body may come again, and is not metered.
        if (result.check.kind === 'rate' || !outcome.granted) this.#remember(result);
      }
      return outcome;
    } catch (error) {
      this.#noteAway(true, error);
      throw limitsAway(error);
    }
  }

  async #checkInTime(checks: readonly LimitCheck[]): Promise<LimitOutcome> {
    const sentAtMs = performance.now();
    try {
      return await checkInRedis(this.#redis, checks, this.#clock.nowMs() + runMsMax);
    } catch (error) {
      if (!(error instanceof LateCheckError) || performance.now() - sentAtMs > runMsMax) throw error;
      // It was not late: this Redis has another time, as after a failover, or in a cluster.
      return checkInRedis(this.#redis, checks, error.redisMs + runMsMax);
    }
  }

  /**
   * Like {@link check}, but fails open: while Redis is unavailable, this process alone applies the
   * same rates.
   */
  async checkOpen(checks: readonly RateCheck[]): Promise<LimitOutcome> {
    try {
      return await this.check(checks);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return this.#local.check(checks);
    }
  }

  /**
   * Returns the refusal if a check is known to be refused, without asking Redis. Returns undefined
   * if that is not known.
   */
  refusal(checks: readonly LimitCheck[]): LimitOutcome | undefined {
    const nowMs = performance.now();
    for (const check of checks) {
      const known = check.cost > 0 ? this.#usedUp.get(check.key) : undefined;
      if (known === undefined || known.untilMs <= nowMs || known.result.check.limit !== check.limit) continue;
      return { granted: false, results: [later(known, check, nowMs - known.atMs)] };
    }
    return undefined;
  }

  /** Forgets that checks are known to be refused. */
  forget(checks: readonly LimitCheck[]): void {
    for (const { key } of checks) this.#usedUp.delete(key);
  }

  #remember(result: LimitResult): void {
    if (result.remaining >= 1) return;
    const atMs = performance.now();
    const knownMs = Math.min(rememberedMsMax, untilOneFitsMs(result));
    if (knownMs > 0) this.#usedUp.set(result.check.key, { result, atMs, untilMs: atMs + knownMs });
  }

  #noteAway(away: boolean, error?: unknown): void {
    if (away) this.#awayUntilMs = performance.now() + awayMs;
    if (away === this.#away) return;
    this.#away = away;
    if (away) this.#logger.warn({ err: error }, 'limits cannot be checked in Redis, every process applies them alone');
    else this.#logger.info('limits are checked in Redis again');
  }
}

/** Returns the time until one unit fits, from the level that `resetMs` expresses. */
function untilOneFitsMs({ check, resetMs }: LimitResult): number {
  if (check.kind === 'quota' || check.limit === 0) return rememberedMsMax;
  return resetMs - ((check.limit - 1) * check.windowMs) / check.limit;
}

/** Converts a remembered used-up limit to the result for another check, `passedMs` later. */
function later({ result }: UsedUp, check: LimitCheck, passedMs: number): LimitResult {
  const resetMs = Math.max(0, Math.round(result.resetMs - passedMs));
  if (check.kind === 'quota') return { check, remaining: result.remaining, resetMs: 0, retryMs: 0 };
  const { cost, limit, windowMs } = check;
  const retryMs = cost > limit ? windowMs : resetMs - ((limit - cost) * windowMs) / limit;
  return { check, remaining: 0, resetMs, retryMs: Math.max(1, Math.ceil(retryMs)) };
}

function limitsAway(cause?: unknown): UnavailableError {
  return new UnavailableError('dependency_unavailable', 'Limits cannot be checked at the moment. Try again.', {
    retryAfterS: 1,
    cause,
  });
}
