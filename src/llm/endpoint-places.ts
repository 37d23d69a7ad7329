import { createHash, randomUUID } from 'node:crypto';
import { FairLane } from '../lib/fair-lane.ts';
import type { Redis } from '../stores/redis/client.ts';
import { llmPrefix } from '../stores/redis/names.ts';
import { createScript } from '../stores/redis/script.ts';
import type { LlmLimits } from './limits.ts';
import { pause } from './pause.ts';

/** The right to send one request now. */
export interface Place {
  release(): void;
}

export interface Places {
  /**
   * Waits for a place. Returns undefined if the time ended or the signal was aborted before one was
   * free. Fails closed: while Redis is unavailable, no request starts.
   */
  take(sharer: string, signal: AbortSignal): Promise<Place | undefined>;
}

/**
 * Takes a lease in two sorted sets (of the endpoint, of the sharer) whose scores are the expiry, and
 * one unit of two leaky buckets (ITU-T I.371, Annex A: a level that drains at limit / window). The
 * process renews its leases, so one of a process that died or is frozen expires. While other sharers wait
 * as well, a sharer takes a place only below an equal part, so that who asks often does not get more. A lease that an
 * earlier try has taken, whose answer was lost, is renewed.
 * ARGV: id of the lease, its ms, then for the endpoint and the sharer: requests at once, requests a minute;
 * the sharer, and the ms for which it waits unless it asks again.
 * Answers 0 if all were taken, otherwise the ms until it may be worth to ask again.
 */
const takeLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local wait = 0
local levels = {}
local function hold(leases)
  redis.call('ZADD', leases, now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', leases, ARGV[2])
end
local taken = redis.call('ZSCORE', KEYS[1], ARGV[1])
if taken and tonumber(taken) > now then
  hold(KEYS[1])
  hold(KEYS[2])
  return 0
end
local waiting, sharer = KEYS[5], ARGV[7]
redis.call('ZREMRANGEBYSCORE', waiting, '-inf', now - ARGV[8])
redis.call('ZREM', waiting, sharer)
local sharers = redis.call('ZCARD', waiting) + 1
for i = 1, 2 do
  local leases, bucket = KEYS[i], KEYS[i + 2]
  local most, rate = tonumber(ARGV[i * 2 + 1]), tonumber(ARGV[i * 2 + 2])
  if i == 2 and sharers > 1 then
    most = math.min(most, math.max(1, math.floor(ARGV[3] / sharers)))
    rate = math.min(rate, ARGV[4] / sharers)
  end
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
  if redis.call('ZCARD', leases) >= most then wait = math.max(wait, 25) end
  local kept = redis.call('GET', bucket)
  local level = 0
  if kept then
    local keptLevel, at = struct.unpack('dd', kept)
    level = math.max(0, keptLevel - math.max(0, now - at) * rate / 60000)
  end
  levels[i] = level
  local burst = math.max(1, rate / 60)
  if level + 1 > burst then wait = math.max(wait, (level + 1 - burst) * 60000 / rate) end
end
if wait > 0 then
  redis.call('ZADD', waiting, now, sharer)
  redis.call('PEXPIRE', waiting, ARGV[8])
  return math.ceil(wait)
end
for i = 1, 2 do
  hold(KEYS[i])
  redis.call('SET', KEYS[i + 2], struct.pack('dd', levels[i] + 1, now), 'PX', 120000)
end
return 0`;

/**
 * Renews leases. One that expired while its process was frozen or without Redis may have been given away and
 * is not taken back: its request goes on, so for the rest of that request more than the maximum may be in progress.
 * KEYS: the two sorted sets of each lease. ARGV: the ms of a lease, then the id of each.
 */
const renewLua = `
local time = redis.call('TIME')
local untilMs = time[1] * 1000 + time[2] / 1000 + ARGV[1]
for i, leases in ipairs(KEYS) do
  redis.call('ZADD', leases, 'XX', untilMs, ARGV[1 + math.ceil(i / 2)])
  redis.call('PEXPIRE', leases, ARGV[1])
end`;

const takeScript = createScript(takeLua);
const renewScript = createScript(renewLua);
/** Renewals within the time of a lease, so that it survives a few that fail. */
const renewalsPerLease = 4;
const waitMsMax = 1_000;
/** A sharer that waits asks more often. */
const askedMsMax = 2 * waitMsMax + 500;
const outageMs = 250;
/** Between two tries of a call that waits, at first and at most. */
const restMs = { least: 25, most: 250 };
/** Calls of one process that wait: more than its runs make. */
const waitingMax = { ofSharer: 1_000, all: 10_000 };

/**
 * Creates the places of one endpoint. All processes that use this Redis share them. Of the calls of a sharer that wait in
 * this process, the first asks Redis, less and less often or when one of its places is given back, and the others wait
 * for it.
 */
export function createPlaces(redis: Redis, { endpoint, limits }: { endpoint: string; limits: LlmLimits }): Places {
  const prefix = llmPrefix(createHash('sha256').update(endpoint).digest('hex').slice(0, 16));
  const { leaseMs } = limits;
  /** The places of this process: the ids of the leases, and their sorted sets. */
  const held = new Map<string, readonly string[]>();
  let renewal: NodeJS.Timeout | undefined;
  /** Ends the pause of the call of a sharer that asks, by the sharer. */
  const wakes = new Map<string, () => void>();
  const asking = new FairLane({
    ...{ name: 'calls of models', capacity: waitingMax.all, perKey: 1 },
    ...{ waitingPerKey: waitingMax.ofSharer, waitingMax: waitingMax.all, waitMsMax: limits.waitMsMax },
  });

  function renew(): void {
    renewScript.run(redis, [...held.values()].flat(), [leaseMs, ...held.keys()]).catch(() => undefined);
  }

  function hold(id: string, leases: readonly string[], sharer: string): Place {
    held.set(id, leases);
    renewal ??= setInterval(renew, leaseMs / renewalsPerLease);
    return {
      release() {
        held.delete(id);
        if (held.size === 0) {
          clearInterval(renewal);
          renewal = undefined;
        }
        void release(redis, leases, id).then(() => wakes.get(sharer)?.());
      },
    };
  }

  async function ask(sharer: string, signal: AbortSignal, untilMs: number): Promise<Place | undefined> {
    const leases = [`${prefix}:leases`, `${prefix}:${sharer}:leases`];
    const keys = [...leases, `${prefix}:rate`, `${prefix}:${sharer}:rate`, `${prefix}:waiting`];
    const id = randomUUID();
    const { concurrencyMax, ratePerMinute, concurrencyOfSharerMax, ratePerMinuteOfSharer } = limits;
    const ofEndpoint = [concurrencyMax, ratePerMinute];
    const ofSharer = [concurrencyOfSharerMax, ratePerMinuteOfSharer];
    const args = [id, leaseMs, ...ofEndpoint, ...ofSharer, sharer, askedMsMax];
    let mayHold = false;
    for (let ms = restMs.least; !signal.aborted && performance.now() < untilMs; ms = Math.min(2 * ms, restMs.most)) {
      const answer = await takeScript.run(redis, keys, args).catch(() => undefined);
      if (answer === 0) return hold(id, leases, sharer);
      mayHold ||= answer === undefined;
      const wishedMs = answer === undefined ? outageMs : Math.min(Number(answer), waitMsMax);
      // Jitter: processes that wait for the same place must not ask together.
      const isWhole = await pauseOrWake(sharer, Math.max(ms, wishedMs) * (1 + Math.random() / 5), signal);
      if (!isWhole) ms = restMs.least / 2;
    }
    if (mayHold) void release(redis, leases, id);
    return undefined;
  }

  /** Waits until the time is over, or a call of the sharer in this process has given back its place. */
  async function pauseOrWake(sharer: string, ms: number, signal: AbortSignal): Promise<boolean> {
    const waking = new AbortController();
    const wake = () => waking.abort();
    wakes.set(sharer, wake);
    signal.addEventListener('abort', wake, { once: true });
    try {
      return await pause(ms, waking.signal);
    } finally {
      signal.removeEventListener('abort', wake);
      wakes.delete(sharer);
    }
  }

  return {
    async take(sharer, signal) {
      const untilMs = performance.now() + limits.waitMsMax;
      // The lane refuses a call that waits for too long, or whose signal is aborted.
      return asking.run(sharer, () => ask(sharer, signal, untilMs), { waiter: { signal } }).catch(() => undefined);
    },
  };
}

/** A lease that could not be released expires. */
async function release(redis: Redis, leases: readonly string[], id: string): Promise<void> {
  const commands = redis.multi();
  for (const key of leases) commands.zrem(key, id);
  await commands.exec().catch(() => undefined);
}
