import type { Queue } from 'bullmq';
import type { Redis } from '../stores/redis/client.ts';
import { backlogSuffix, bodyKey, finishedInfix } from '../stores/redis/names.ts';
import { createScript } from '../stores/redis/script.ts';
import { jobBytes, receiptMs } from './backlog.ts';
import { costLua } from './ingest-lanes.ts';
import { backlogKeptS, finishedKeptS, type IngestOutcome } from './job-catalog.ts';

/**
 * Finished bodies that one workspace can have in one minute before the time for which they are
 * remembered shrinks from `finishedKeptS` to `briefS`. This limits the Redis memory of the
 * workspace to 75 MB.
 */
const rememberedPerMinuteMax = 30_000;
const briefS = 60;

/**
 * Drops a body unless a job still needs it. A job needs it until it has ended; a job that ended as
 * `isolated` left the body to the isolation queue. The script checks and drops atomically, so that
 * a resend cannot lose its body.
 * While the body waits in the isolation queue, the job of its lane stays: it says what the backlog
 * counts, and that a resend is the same delivery. It leaves the set of finished ids, because BullMQ
 * removes the old jobs of that set. It expires, in case the body is lost.
 * It also subtracts the body from the backlog of the workspace and shrinks the finished job to a
 * record of the outcome of the body. This record expires.
 * KEYS: the body, the job of the isolation queue, then for each lane the job and the set of
 * finished ids.
 * The first write is UNLINK, which Redis allows when it is out of memory. Redis then allows the
 * later writes of the script too.
 * Answers 1 if a body was dropped, otherwise 0.
 */
const dropBodyLua = `
local id = ARGV[1]
local function isFinished(job) return redis.call('HEXISTS', job, 'returnvalue') == 1 end
if redis.call('EXISTS', KEYS[2]) == 1 then
  for at = 3, #KEYS, 2 do
    redis.call('ZREM', KEYS[at + 1], id)
    if isFinished(KEYS[at]) then redis.call('EXPIRE', KEYS[at], ${backlogKeptS}) end
  end
  return 0
end
for at = 3, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[at]) == 1 and not isFinished(KEYS[at]) then return 0 end
end
local bytes = redis.call('STRLEN', KEYS[1])
local dropped = redis.call('UNLINK', KEYS[1])
for at = 3, #KEYS, 2 do
  local job = redis.call('HMGET', KEYS[at], 'data', 'finishedOn', 'returnvalue', 'stc')
  if job[1] then
    local data = cjson.decode(job[1])
    local workspace = data.workspaceId or ''
    if dropped == 1 then
      local backlog = workspace .. '${backlogSuffix}'
      local lane = string.match(KEYS[at + 1], ':([^:]+):completed$')
      local cost = ${costLua}
      local left = redis.call('HINCRBY', backlog, 'bytes', -(bytes + ${jobBytes}))
      local received = math.floor((tonumber(data.receivedAtMs) or 0) / ${receiptMs})
      if left <= 0 then redis.call('UNLINK', backlog)
      else
        if redis.call('HINCRBY', backlog, lane, -cost) < 0 then redis.call('HDEL', backlog, lane) end
        local same = redis.call('HINCRBY', backlog, received, -(bytes + ${jobBytes}))
        if same <= 0 then redis.call('HDEL', backlog, received) end
      end
    end
    local outcome = job[3] or 'null'
    if outcome == '"isolated"' and ARGV[3] ~= '' then outcome = ARGV[3] end
    redis.call('UNLINK', KEYS[at])
    redis.call('ZREM', KEYS[at + 1], id)
    redis.call('HSET', KEYS[at], 'finishedOn', job[2] or 0, 'returnvalue', outcome, 'stc', job[4] or 0)
    local minute = workspace .. '${finishedInfix}' .. math.floor(tonumber(redis.call('TIME')[1]) / 60)
    local count = redis.call('INCR', minute)
    if count == 1 then redis.call('EXPIRE', minute, 60) end
    redis.call('EXPIRE', KEYS[at], count > tonumber(ARGV[2]) and ${briefS} or ${finishedKeptS})
  end
end
return dropped`;

export interface BodyQueues {
  /** The lanes. */
  ingest: readonly Queue[];
  isolation: Queue;
}

export interface DropBodyOptions {
  /** The outcome of a body that was tried alone. */
  outcome?: IngestOutcome;
  /** Finished bodies per workspace and minute that are remembered for ten minutes, for tests. */
  rememberedPerMinute?: number;
}

const script = createScript(dropBodyLua);

/**
 * Drops the body of a job unless a job still needs it. Resolves to whether a body was dropped.
 * @throws the error of Redis
 */
export async function dropBody(
  redis: Redis,
  { ingest, isolation }: BodyQueues,
  { projectId, jobId }: { projectId: string; jobId: string },
  { outcome, rememberedPerMinute = rememberedPerMinuteMax }: DropBodyOptions = {},
): Promise<boolean> {
  const lanes = ingest.flatMap((queue) => [queue.toKey(jobId), queue.toKey('completed')]);
  const keys = [bodyKey(projectId, jobId), isolation.toKey(jobId), ...lanes];
  const aloneAs = outcome === undefined ? '' : JSON.stringify(outcome);
  return (await script.run(redis, keys, [jobId, rememberedPerMinute, aloneAs])) === 1;
}

/** KEYS: the job of the isolation queue, then for each lane the job and the set of finished ids. */
const forgetJobLua = `
if redis.call('EXISTS', KEYS[1]) == 1 then return end
for at = 2, #KEYS, 2 do
  if redis.call('HEXISTS', KEYS[at], 'returnvalue') == 1 then
    redis.call('UNLINK', KEYS[at])
    redis.call('ZREM', KEYS[at + 1], ARGV[1])
  end
end`;

const forgetScript = createScript(forgetJobLua);

/**
 * Removes the record of a finished body, so that its id can be published again. A job that waits or runs stays, and so
 * does one whose body waits to be tried alone.
 * @throws the error of Redis
 */
export async function forgetJob(redis: Redis, { ingest, isolation }: BodyQueues, jobId: string): Promise<void> {
  const lanes = ingest.flatMap((queue) => [queue.toKey(jobId), queue.toKey('completed')]);
  await forgetScript.run(redis, [isolation.toKey(jobId), ...lanes], [jobId]);
}
