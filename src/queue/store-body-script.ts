import type { IRedisTransaction } from 'bullmq';
import { laneBaseKey, summaryTracesKey } from '../stores/redis/names.ts';
import { type BacklogShare, listedTraceBytes, receiptMs, type WorkspaceBacklog } from './backlog.ts';
import { backlogKeptS } from './job-catalog.ts';

/**
 * Stores the body only if its job is not known, so that a resend of a finished body leaves nothing
 * behind. In the same script it counts the spans: a new body adds ARGV[2], a duplicate adds
 * ARGV[3], which gives back the spans taken for it earlier. A new body is added to the backlog of
 * its workspace, and to the minute of its receipt there.
 * Answers whether it is a duplicate, the backlog with the traces on the list of summaries, and the base time of the lanes.
 */
const storeBodyLua = `
local duplicate = redis.call('EXISTS', KEYS[1])
local change = tonumber(duplicate == 1 and ARGV[3] or ARGV[2])
if change ~= 0 then
  local total = redis.call('HINCRBY', KEYS[3], 'total', change)
  redis.call('HINCRBY', KEYS[3], ARGV[4], change)
  if total == change then redis.call('EXPIREAT', KEYS[3], ARGV[5]) end
end
local base = redis.call('GET', KEYS[5])
if not base then
  base = redis.call('TIME')[1]
  redis.call('SET', KEYS[5], base)
end
local listed = ${listedTraceBytes} * tonumber(redis.call('HGET', KEYS[6], ARGV[11]) or 0)
if duplicate == 1 then
  local known = redis.call('HMGET', KEYS[4], 'bytes', ARGV[7])
  return {1, tonumber(known[1] or 0) + listed, tonumber(known[2] or 0), tonumber(base)}
end
redis.call('SET', KEYS[2], ARGV[1])
local bytes = redis.call('HINCRBY', KEYS[4], 'bytes', ARGV[6])
local cost = redis.call('HINCRBY', KEYS[4], ARGV[7], ARGV[8])
redis.call('HINCRBY', KEYS[4], ARGV[10], ARGV[6])
redis.call('EXPIRE', KEYS[4], ARGV[9])
return {0, bytes + listed, cost, tonumber(base)}`;

/**
 * Where the spans of a body are counted: in the hash `key`, in its fields `total` and `slot` (the
 * minute).
 */
export interface SpanMeter {
  key: string;
  slot: string;
  /** Expiry of the counter, in seconds since the epoch. */
  expiresAtS: number;
  spans: number;
  /**
   * Whether the spans were counted when the quota was checked. Then a duplicate gives them back.
   */
  taken: boolean;
}

export interface StoreBodyCommand {
  keys: { job: string; body: string; backlog: string };
  body: Buffer;
  meter: SpanMeter | undefined;
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
  const { keys, body, meter, share, receivedAtMs, workspaceId } = command;
  const { lane, bytes, cost } = share;
  transaction.runCommand('eval', [
    ...[storeBodyLua, 6, keys.job, keys.body, meter?.key ?? keys.body, keys.backlog, laneBaseKey, summaryTracesKey],
    ...[body, ...meterArgs(meter), bytes, lane, cost, backlogKeptS, Math.floor(receivedAtMs / receiptMs), workspaceId],
  ]);
}

/** Parses the answer of the script. */
export function readStoredBody(answer: unknown): StoredBody {
  const [duplicate = 0, bytes = 0, cost = 0, baseS = 0] = answer as number[];
  return { duplicate: duplicate === 1, backlog: { bytes, cost }, baseS };
}

function meterArgs(meter: SpanMeter | undefined): (string | number)[] {
  if (meter === undefined) return [0, 0, '', 0];
  const { spans, taken, slot, expiresAtS } = meter;
  return [taken ? 0 : spans, taken ? -spans : 0, slot, expiresAtS];
}
