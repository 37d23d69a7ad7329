import type { Redis } from '../stores/redis/client.ts';
import { summaryKeys, summaryProjectsKey, summaryTracesKey } from '../stores/redis/names.ts';
import { countSummaries } from './summary-counts.ts';

/**
 * If a worker dies or hangs, others take its traces after this time. A worker that is alive renews
 * its leases.
 */
const leaseMs = 15_000;
const failurePauseFirstMs = 1_000;
const failurePauseMaxMs = 600_000;
/** Maximum number of members per script call. */
const tracesPerScript = 1_000;

/** A trace that gets further spans does not wait for the rest of a longer pause after failures. */
const fedPauseMaxMs = 10_000;

/**
 * Adds traces. A listed trace keeps its time unless a worker has leased it; then it is due again
 * after its rest. One in a long pause after failures is due after `fedPauseMaxMs`. Counts the new traces for the
 * workspace, and answers their number.
 */
const addLua = `
local added = 0
for i = 4, #ARGV do
  local place = redis.call('ZSCORE', KEYS[1], ARGV[i])
  local rest = redis.call('ZSCORE', KEYS[2], ARGV[i])
  local due = ARGV[1]
  if rest and tonumber(rest) > tonumber(due) then due = rest end
  if not place then added = added + 1 end
  if not place or tonumber(place) % 1 ~= 0 then redis.call('ZADD', KEYS[1], due, ARGV[i])
  elseif tonumber(place) > ARGV[1] + ${fedPauseMaxMs} then
    redis.call('ZADD', KEYS[1], string.format('%.0f', ARGV[1] + ${fedPauseMaxMs}), ARGV[i])
  end
end
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
if added > 0 then redis.call('HINCRBY', KEYS[4], ARGV[3], added) end
return added`;

/** Leases due traces. Only the time of a lease has a fraction, so the fraction marks it. */
const leaseLua = `
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[1])
local traces = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[4])
for _, trace in ipairs(traces) do
  redis.call('ZADD', KEYS[1], ARGV[3], trace)
  redis.call('ZADD', KEYS[2], ARGV[2], trace)
end
return traces`;

/**
 * Removes the trace from the list. If it was added again meanwhile, it becomes due after its rest.
 */
const doneLua = `
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
local place = redis.call('ZSCORE', KEYS[1], ARGV[1])
if place and tonumber(place) == tonumber(ARGV[2]) then
  redis.call('ZREM', KEYS[1], ARGV[1])
  if redis.call('HINCRBY', KEYS[5], ARGV[6], -1) <= 0 then redis.call('HDEL', KEYS[5], ARGV[6]) end
elseif place then redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1]) end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('HDEL', KEYS[4], ARGV[4]) end`;

/** Only of a trace whose lease still holds, or that was added again meanwhile: another worker has finished any other. */
const failedLua = `
local place = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '')
if not place or place ~= tonumber(ARGV[5]) and place % 1 ~= 0 then return end
local failures = redis.call('HINCRBY', KEYS[3], ARGV[1], 1)
local pause = math.min(tonumber(ARGV[3]) * 2 ^ math.min(failures - 1, 20), tonumber(ARGV[4]))
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZADD', KEYS[1], string.format('%.0f', tonumber(ARGV[2]) + pause), ARGV[1])`;

/**
 * Releases leases that still hold. Their traces are due again at ARGV[2], as are traces that were
 * added again meanwhile.
 */
const releaseLua = `
for i = 3, #ARGV do
  local place = redis.call('ZSCORE', KEYS[1], ARGV[i])
  local isOurs = place and (tonumber(place) == tonumber(ARGV[1]) or tonumber(place) % 1 == 0)
  if isOurs then redis.call('ZADD', KEYS[1], ARGV[2], ARGV[i]) end
  redis.call('ZREM', KEYS[2], ARGV[i])
end`;

/**
 * Extends leases that still hold until ARGV[3] and changes their mark from ARGV[1] to ARGV[2].
 * Traces that were added again meanwhile are due then.
 */
const renewLua = `
for i = 4, #ARGV do
  local place = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or '')
  local until_ms = place == tonumber(ARGV[1]) and ARGV[2] or place and place % 1 == 0 and ARGV[3]
  if until_ms then
    redis.call('ZADD', KEYS[1], until_ms, ARGV[i])
    redis.call('ZADD', KEYS[2], ARGV[3], ARGV[i])
  end
end`;

export interface SummaryProject {
  workspaceId: string;
  projectId: string;
}

/** Traces that this worker holds until it reports their outcome or the lease ends. */
export interface SummaryLease extends SummaryProject {
  traceIds: readonly string[];
  /** The score that marks the leased traces. It changes when the lease is renewed. */
  place: string;
}

/**
 * Adds traces to the list, each once. Resolves to the number of new traces.
 * @throws the error of Redis
 */
export async function listForSummary(
  redis: Redis,
  { workspaceId, projectId }: SummaryProject,
  traceIds: readonly string[],
): Promise<number> {
  const { due, rest } = summaryKeys(projectId);
  const keys = [due, rest, summaryProjectsKey, summaryTracesKey];
  let added = 0;
  for (let at = 0; at < traceIds.length; at += tracesPerScript) {
    const some = traceIds.slice(at, at + tracesPerScript);
    added += Number(await redis.eval(addLua, keys.length, ...keys, Date.now(), projectId, workspaceId, ...some));
  }
  return added;
}

/**
 * Returns those of the traces that are not on the list.
 * @throws the error of Redis
 */
export async function withoutPlace(redis: Redis, projectId: string, traceIds: readonly string[]): Promise<string[]> {
  const absent: string[] = [];
  for (let at = 0; at < traceIds.length; at += tracesPerScript) {
    const some = traceIds.slice(at, at + tracesPerScript);
    const places = await redis.zmscore(summaryKeys(projectId).due, ...some);
    absent.push(...some.filter((_, index) => places[index] === null));
  }
  return absent;
}

/** Returns the projects that have traces on the list, due or not. */
export async function summaryProjects(redis: Redis): Promise<SummaryProject[]> {
  const projects = await redis.hgetall(summaryProjectsKey);
  return Object.entries(projects).map(([projectId, workspaceId]) => ({ projectId, workspaceId }));
}

/**
 * Counts the traces of each workspace on the list anew: a worker of an older version does not. What changes meanwhile is
 * counted the next time. Throws the error of Redis.
 */
export async function recountSummaries(redis: Redis): Promise<void> {
  const counts = new Map<string, number>();
  const count = async ({ projectId, workspaceId }: SummaryProject) => {
    const size = await redis.zcard(summaryKeys(projectId).due);
    counts.set(workspaceId, (counts.get(workspaceId) ?? 0) + size);
  };
  await Promise.all((await summaryProjects(redis)).map(count));
  const empty = redis.multi().del(summaryTracesKey);
  await (counts.size > 0 ? empty.hset(summaryTracesKey, counts) : empty).exec();
}

/** More projects than this are rarely busy at a time. A late one of the others is found in a later look. */
const projectsPerLook = 200;

/**
 * Returns since when the summary of a trace is due that no worker has begun, in milliseconds since the epoch;
 * undefined when none waits. It looks at 200 of the projects with traces on the list. A trace in the pause after a
 * failure is not due.
 * @throws the error of Redis
 */
export async function oldestDueSummaryAtMs(redis: Redis): Promise<number | undefined> {
  const projectIds = (await redis.hrandfield(summaryProjectsKey, projectsPerLook)) as string[];
  const heads = await Promise.all(
    projectIds.map((projectId) =>
      redis.zrangebyscore(summaryKeys(projectId).due, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1),
    ),
  );
  const dueAtMs = heads.flatMap(([, score]) => (score === undefined ? [] : Math.floor(Number(score))));
  return dueAtMs.length === 0 ? undefined : Math.min(...dueAtMs);
}

/** Leases up to `tracesMax` due traces of a project, the longest due first. */
export async function leaseSummaries(redis: Redis, project: SummaryProject, tracesMax: number): Promise<SummaryLease> {
  const { due, rest } = summaryKeys(project.projectId);
  const nowMs = Date.now();
  const place = placeOf(nowMs + leaseMs);
  const traceIds = await redis.eval(leaseLua, 2, due, rest, nowMs, nowMs + leaseMs, place, tracesMax);
  return { ...project, place, traceIds: traceIds as string[] };
}

/**
 * Renews the lease of the traces that are still being processed. Later commands on the same
 * connection use the new mark.
 */
export async function renewSummaries(redis: Redis, lease: SummaryLease, traceIds: readonly string[]): Promise<void> {
  if (traceIds.length === 0) return;
  const { due, rest } = summaryKeys(lease.projectId);
  const untilMs = Date.now() + leaseMs;
  const before = lease.place;
  lease.place = placeOf(untilMs);
  await redis.eval(renewLua, 2, due, rest, before, lease.place, untilMs, ...traceIds);
}

/** Marks the trace as summarized. It rests for `restMs` before it is summarized again. */
export async function endSummary(redis: Redis, lease: SummaryLease, traceId: string, restMs: number): Promise<void> {
  const { due, rest, failures } = summaryKeys(lease.projectId);
  const restUntilMs = Date.now() + Math.ceil(restMs);
  await redis.eval(
    doneLua,
    5,
    due,
    rest,
    failures,
    summaryProjectsKey,
    summaryTracesKey,
    traceId,
    lease.place,
    restUntilMs,
    lease.projectId,
    leaseMs,
    lease.workspaceId,
  );
}

/** Releases traces that were not processed. Any worker may take them after `pauseMs`. */
export async function releaseSummaries(
  redis: Redis,
  lease: SummaryLease,
  traceIds: readonly string[],
  pauseMs: number,
): Promise<void> {
  if (traceIds.length === 0) return;
  const { due, rest } = summaryKeys(lease.projectId);
  await redis.eval(releaseLua, 2, due, rest, lease.place, Date.now() + pauseMs, ...traceIds);
}

/** Keeps a trace that could not be summarized on the list. The pause doubles with each failure, from 1 s to ten minutes. */
export async function failSummary(redis: Redis, lease: SummaryLease, traceId: string): Promise<void> {
  const { due, rest, failures } = summaryKeys(lease.projectId);
  const pauses = [failurePauseFirstMs, failurePauseMaxMs];
  await redis.eval(failedLua, 3, due, rest, failures, traceId, Date.now(), ...pauses, lease.place);
  await countSummaries(redis, 'failed', 1);
}

function placeOf(leaseEndMs: number): string {
  return `${leaseEndMs}.5`;
}
