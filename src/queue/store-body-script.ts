import type { IRedisTransaction } from 'bullmq';
import { laneBaseKey, summaryTracesKey } from '../stores/redis/names.ts';
import { type BacklogShare, listedTraceBytes, receiptMs, type WorkspaceBacklog } from './backlog.ts';
import { backlogKeptS } from './job-catalog.ts';

/**
 * Stores the body only if its job is not known, so that a resend of a finished body leaves nothing
 * behind. A new body is added to the backlog of its workspace, and to the minute of its receipt there. In the same
 * script it is counted: each of the keys after the first five is a counter with four arguments after the first seven:
 * what a new body adds, what a duplicate adds (it gives back what was taken for it earlier), the minute or '', and the
 * expiry.
 * Answers whether it is a duplicate, the backlog with the traces on the list of summaries, and the base time of the lanes.
 */
const storeBodyLua = `
local duplicate = redis.call('EXISTS', KEYS[1])
for i = 6, #KEYS do
  local a = i * 4 - 16
  local change = tonumber(ARGV[a + duplicate])
  if change ~= 0 then
    local total = redis.call('HINCRBY', KEYS[i], 'total', change)
    if ARGV[a + 2] ~= '' then redis.call('HINCRBY', KEYS[i], ARGV[a + 2], change) end
    if total == change then redis.call('EXPIREAT', KEYS[i], ARGV[a + 3]) end
  end
end
local base = redis.call('GET', KEYS[4])
if not base then
  base = redis.call('TIME')[1]
  redis.call('SET', KEYS[4], base)
end
local listed = ${listedTraceBytes} * tonumber(redis.call('HGET', KEYS[5], ARGV[7]) or 0)
if duplicate == 1 then
  local known = redis.call('HMGET', KEYS[3], 'bytes', ARGV[3])
  return {1, tonumber(known[1] or 0) + listed, tonumber(known[2] or 0), tonumber(base)}
end
redis.call('SET', KEYS[2], ARGV[1])
local bytes = redis.call('HINCRBY', KEYS[3], 'bytes', ARGV[2])
local cost = redis.call('HINCRBY', KEYS[3], ARGV[3], ARGV[4])
redis.call('HINCRBY', KEYS[3], ARGV[6], ARGV[2])
redis.call('EXPIRE', KEYS[3], ARGV[5])
return {0, bytes + listed, cost, tonumber(base)}`;

/**
 * Where something of a body is counted, its spans or its bytes: in the hash `key`, in its fields `total` and `slot`
 * (the minute; '' for none).
 */
export interface BodyMeter {
  key: string;
  slot: string;
  /** Expiry of the counter, in seconds since the epoch. */
  expiresAtS: number;
  units: number;
  /**
   * Whether the units were counted when the quota was checked. Then a duplicate gives them back.
   */
  taken: boolean;
}

export interface StoreBodyCommand {
  keys: { job: string; body: string; backlog: string };
  body: Buffer;
  meters: readonly BodyMeter[];
  share: BacklogShare;
  receivedAtMs: number;
  workspaceId: string;
}

export interface StoredBody {
  duplicate: boolean;
  /** What the workspace has waiting, including this body; the cost is that in the lane of the body. */
  backlog: WorkspaceBacklog;
  baseS: number;
}

/**
 * Adds the script to the transaction as full text, not by digest. Redis could know the digest of
 * the job script but not this one; then a job would be stored without its body.
 */
export function addStoreBody(transaction: IRedisTransaction, command: StoreBodyCommand): void {
  const { keys, body, meters, share, receivedAtMs, workspaceId } = command;
  const { lane, bytes, cost } = share;
  transaction.runCommand('eval', [
    ...[storeBodyLua, 5 + meters.length, keys.job, keys.body, keys.backlog, laneBaseKey, summaryTracesKey],
    ...meters.map(({ key }) => key),
    ...[body, bytes, lane, cost, backlogKeptS, Math.floor(receivedAtMs / receiptMs), workspaceId],
    ...meters.flatMap(meterArgs),
  ]);
}

/** Parses the answer of the script. */
export function readStoredBody(answer: unknown): StoredBody {
  const [duplicate = 0, bytes = 0, cost = 0, baseS = 0] = answer as number[];
  return { duplicate: duplicate === 1, backlog: { bytes, cost }, baseS };
}

function meterArgs({ units, taken, slot, expiresAtS }: BodyMeter): (string | number)[] {
  return [taken ? 0 : units, taken ? -units : 0, slot, expiresAtS];
}
