import type { Redis } from '../../stores/redis/client.ts';
import { createScript } from '../../stores/redis/script.ts';

/**
 * Raises a counter to the stored units received before a minute, plus what was counted for that
 * minute and later. It never falls: a span that comes again counts again, and is stored once. Concurrent additions are
 * kept. ARGV: stored units, the first minute that is not settled, now, expiry. A settlement that began before the last one
 * has no effect, and
 * none of fewer minutes, as with a body that is replayed from the quarantine: the minutes that it counts as open are gone.
 */
const lua = `
if tonumber(redis.call('HGET', KEYS[1], 'settled_at_ms') or 0) > tonumber(ARGV[3]) then return 0 end
if tonumber(redis.call('HGET', KEYS[1], 'settled_slot') or 0) > tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'settled_at_ms', ARGV[3])
  return 0
end
local fields = redis.call('HGETALL', KEYS[1])
local current, open = 0, 0
for i = 1, #fields, 2 do
  local slot = tonumber(fields[i])
  if fields[i] == 'total' then current = tonumber(fields[i + 1])
  elseif slot and slot >= tonumber(ARGV[2]) then open = open + fields[i + 1]
  elseif slot then redis.call('HDEL', KEYS[1], fields[i]) end
end
local total = math.max(tonumber(ARGV[1]) + open, current)
if total == 0 and #fields == 0 then return 0 end
redis.call('HSET', KEYS[1], 'total', total, 'settled_at_ms', ARGV[3], 'settled_slot', ARGV[2])
redis.call('EXPIREAT', KEYS[1], ARGV[4])
return total - current`;

const script = createScript(lua);

export interface SettledUsage {
  key: string;
  /** Number of stored units that were received before `firstOpenSlot`. */
  stored: number;
  firstOpenSlot: number;
  nowMs: number;
  expiresAtS: number;
}

/** Corrects the counter of a month. Resolves to what was added. */
export async function settleCounter(redis: Redis, settled: SettledUsage): Promise<number> {
  const { key, stored, firstOpenSlot, nowMs, expiresAtS } = settled;
  const change = await script.run(redis, [key], [stored, firstOpenSlot, nowMs, expiresAtS]);
  return Number(change);
}

/** Delays the next attempt at a counter that could not be settled. */
export async function noteSettleAttempt(
  redis: Redis,
  { key, nowMs, expiresAtS }: Pick<SettledUsage, 'key' | 'nowMs' | 'expiresAtS'>,
): Promise<void> {
  await redis.multi().hset(key, 'settled_at_ms', nowMs).expireat(key, expiresAtS).exec();
}

/**
 * Returns the time of the last attempt to settle a counter, in milliseconds since the epoch; 0 for
 * never.
 */
export async function settledAtMs(redis: Redis, key: string): Promise<number> {
  return Number((await redis.hget(key, 'settled_at_ms')) ?? 0);
}
