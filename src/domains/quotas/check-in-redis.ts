import type { Redis } from '../../stores/redis/client.ts';
import { createScript } from '../../stores/redis/script.ts';
import type { LimitCheck, LimitOutcome } from './limit-check.ts';

/**
 * Checks all limits of a request atomically, on the clock of Redis. If all of them grant it, its
 * costs are taken; otherwise nothing is. Rates use GCRA as a continuous-state leaky bucket (ITU-T
 * I.371, Annex A): a level that drains at limit / window and may rise to limit. Level and time are
 * stored as two doubles, so that byte counts stay exact.
 * ARGV: the deadline in ms since the epoch, then five per key: kind, cost, limit, window in ms or slot of the counter, expiry of the
 * counter.
 * Answers whether all were granted, then per key: units left, ms until drained, ms until this check
 * would pass. After the deadline it takes nothing, and answers the time only.
 */
const lua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
if now > tonumber(ARGV[1]) then return { math.floor(now) } end
local levels = {}
local granted = 1
for i, key in ipairs(KEYS) do
  local a = i * 5 + 1
  local cost, limit = tonumber(ARGV[a - 3]), tonumber(ARGV[a - 2])
  local level = 0
  if ARGV[a - 4] == 'rate' then
    local kept = redis.call('GET', key)
    if kept then
      local keptLevel, at = struct.unpack('dd', kept)
      level = math.max(0, keptLevel - math.max(0, now - at) * limit / tonumber(ARGV[a - 1]))
    end
  else
    level = tonumber(redis.call('HGET', key, 'total') or 0)
  end
  levels[i] = level
  if cost > 0 and level + cost > limit then granted = 0 end
end
local answer = { granted }
for i, key in ipairs(KEYS) do
  local a = i * 5 + 1
  local cost, limit, level = tonumber(ARGV[a - 3]), tonumber(ARGV[a - 2]), levels[i]
  local reset, retry = 0, 0
  if ARGV[a - 4] == 'rate' then
    local window = tonumber(ARGV[a - 1])
    if level + cost > limit and cost > 0 then
      retry = cost > limit and window or (level + cost - limit) * window / limit
    end
    if granted == 1 then level = level + cost end
    if limit > 0 then reset = level * window / limit end
    if granted == 1 and cost > 0 then
      redis.call('SET', key, struct.pack('dd', level, now), 'PX', math.ceil(reset) + 1)
    end
  elseif granted == 1 and cost > 0 then
    level = redis.call('HINCRBY', key, 'total', cost)
    if ARGV[a - 1] ~= '' then redis.call('HINCRBY', key, ARGV[a - 1], cost) end
    if level == cost then redis.call('EXPIREAT', key, ARGV[a]) end
  end
  answer[#answer + 1] = math.floor(limit - level)
  answer[#answer + 1] = math.ceil(reset)
  answer[#answer + 1] = math.ceil(retry)
end
return answer`;

const script = createScript(lua);

/** Redis ran the check after its deadline, and took nothing. */
export class LateCheckError extends Error {
  override readonly name = 'LateCheckError';
  /** When it ran, on the clock of the Redis that ran it, in milliseconds since the epoch. */
  readonly redisMs: number;

  constructor(redisMs: number) {
    super('Redis ran the check of the limits too late');
    this.redisMs = redisMs;
  }
}

/**
 * Takes the costs from all limits or from none, atomically, in one round trip. After `deadlineMs`, on the clock of Redis,
 * it takes nothing: a command that timed out may still run, when nobody waits for it any more.
 * @throws LateCheckError after the deadline, and the error of Redis
 */
export async function checkInRedis(
  redis: Redis,
  checks: readonly LimitCheck[],
  deadlineMs = Number.MAX_SAFE_INTEGER,
): Promise<LimitOutcome> {
  const keys = checks.map(({ key }) => key);
  const answer = await script.run(redis, keys, [deadlineMs, ...checks.flatMap(argsOf)]);
  if (!isNumbers(answer)) throw new Error('The limit script returned a value that is not a number');
  const [granted = 0, ...figures] = answer;
  // The time alone.
  if (figures.length < checks.length) throw new LateCheckError(granted);
  const results = checks.map((check, index) => {
    const [remaining = 0, resetMs = 0, retryMs = 0] = figures.slice(index * 3);
    return { check, remaining, resetMs, retryMs };
  });
  return { granted: granted === 1, results };
}

function argsOf(check: LimitCheck): (string | number)[] {
  return check.kind === 'rate'
    ? [check.kind, check.cost, check.limit, check.windowMs, 0]
    : [check.kind, check.cost, check.limit, check.slot, check.expiresAtS];
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}
