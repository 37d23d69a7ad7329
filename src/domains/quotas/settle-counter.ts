import type { Redis } from '../../stores/redis/client.ts';
import { createScript } from '../../stores/redis/script.ts';

/**
 * Sets a counter right: what is stored of everything received before a minute, plus what was entered for that minute and later ones.
 * Whatever is entered meanwhile stays. ARGV: stored, the first minute that is not settled, whether the total may fall, now, expiry.
 */
const lua = `
local fields = redis.call('HGETALL', KEYS[1])
local current, open = 0, 0
for i = 1, #fields, 2 do
  local slot = tonumber(fields[i])
  if fields[i] == 'total' then current = tonumber(fields[i + 1])
  elseif slot and slot >= tonumber(ARGV[2]) then open = open + fields[i + 1]
  elseif slot then redis.call('HDEL', KEYS[1], fields[i]) end
end
local total = tonumber(ARGV[1]) + open
if ARGV[3] == '0' then total = math.max(total, current) end
if total == 0 and #fields == 0 then return 0 end
redis.call('HSET', KEYS[1], 'total', total, 'settled_at_ms', ARGV[4])
redis.call('EXPIREAT', KEYS[1], ARGV[5])
return total - current`;

const script = createScript(lua);

export interface SettledUsage {
  key: string;
  /** How many units received before `firstOpenSlot` are stored. */
  stored: number;
  firstOpenSlot: number;
  /** False where some of what was received may have been deleted since, which must not give its quota back. */
  mayFall: boolean;
  nowMs: number;
  expiresAtS: number;
}

/** Sets the counter of a month right; resolves to by how much it changed. */
export async function settleCounter(redis: Redis, settled: SettledUsage): Promise<number> {
  const { key, stored, firstOpenSlot, mayFall, nowMs, expiresAtS } = settled;
  const change = await script.run(redis, [key], [stored, firstOpenSlot, mayFall ? 1 : 0, nowMs, expiresAtS]);
  return Number(change);
}

/** Puts off the next attempt at a counter that could not be settled. */
export async function noteSettleAttempt(
  redis: Redis,
  { key, nowMs, expiresAtS }: Pick<SettledUsage, 'key' | 'nowMs' | 'expiresAtS'>,
): Promise<void> {
  await redis.multi().hset(key, 'settled_at_ms', nowMs).expireat(key, expiresAtS).exec();
}

/** When a counter was last settled or tried to be, in milliseconds since the epoch; 0 for never. */
export async function settledAtMs(redis: Redis, key: string): Promise<number> {
  return Number((await redis.hget(key, 'settled_at_ms')) ?? 0);
}
