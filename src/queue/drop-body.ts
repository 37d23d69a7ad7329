import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { createScript } from '../stores/redis/script.ts';
import { backlogSuffix, jobBytes } from './backlog.ts';
import { bodyKey } from './body-key.ts';
import { costBytesMin } from './ingest-lanes.ts';
import { finishedKeptS } from './job-catalog.ts';

/**
 * Finished bodies of one workspace that are remembered for the whole time, a minute. One that sends faster is remembered for a
 * minute only, so that what it takes in Redis is bounded by itself (75 MB) and costs no other workspace its memory.
 */
const rememberedPerMinuteMax = 30_000;
const briefS = 60;

/**
 * Drops a body unless a job still needs it, all in one look, so that a resend in between cannot lose its body. A job needs it until
 * it has ended for good; one that ended as `isolated` left it to the job of the isolation queue. Takes it off the backlog of its
 * workspace, and makes the finished job small: what remains says that the body was stored, until it expires by itself.
 *
 * KEYS: the body, the job of the isolation queue, then of each lane the job and the set of finished ids. Writes an unlink first,
 * which Redis allows when it is out of memory; what a script writes after is allowed with it.
 * Answers whether there was a body that is dropped now.
 */
const dropBodyLua = `
local id = ARGV[1]
local function isFinished(job, completed)
  if redis.call('ZSCORE', completed, id) then return true end
  local small = redis.call('HMGET', job, 'finishedOn', 'data')
  return small[1] and not small[2]
end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
for at = 3, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[at]) == 1 and not isFinished(KEYS[at], KEYS[at + 1]) then return 0 end
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
      local cost = math.max(tonumber(data.inflatedBytes) or 0, ${costBytesMin})
      local left = redis.call('HINCRBY', backlog, 'bytes', -(bytes + ${jobBytes}))
      if left <= 0 then redis.call('UNLINK', backlog)
      elseif redis.call('HINCRBY', backlog, lane, -cost) < 0 then redis.call('HDEL', backlog, lane) end
    end
    redis.call('UNLINK', KEYS[at])
    redis.call('ZREM', KEYS[at + 1], id)
    redis.call('HSET', KEYS[at], 'finishedOn', job[2] or 0, 'returnvalue', job[3] or 'null', 'stc', job[4] or 0)
    local minute = workspace .. ':ingest-finished:' .. math.floor(tonumber(redis.call('TIME')[1]) / 60)
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
  rememberedPerMinute?: number;
}

const script = createScript(dropBodyLua);

/**
 * Drops the body of a job unless a job still needs it; resolves to whether there was one. Throws what Redis throws.
 * @param options.rememberedPerMinute finished bodies of a workspace that are remembered for ten minutes, for tests
 */
export async function dropBody(
  redis: Redis,
  { ingest, isolation }: BodyQueues,
  { projectId, jobId }: { projectId: string; jobId: string },
  { rememberedPerMinute = rememberedPerMinuteMax }: DropBodyOptions = {},
): Promise<boolean> {
  const lanes = ingest.flatMap((queue) => [queue.toKey(jobId), queue.toKey('completed')]);
  const keys = [bodyKey(projectId, jobId), isolation.toKey(jobId), ...lanes];
  return (await script.run(redis, keys, [jobId, rememberedPerMinute])) === 1;
}
