import { randomUUID } from 'node:crypto';
import type { Redis } from '../../src/stores/redis/client.ts';
import type { BatchEntry } from './span-batcher.ts';

/** Longer than a batch usually takes. One that takes longer finds its claim gone and reads its traces whole, which is always right. */
const claimMs = 120_000;

/** Takes each trace for one batch, or marks it as wanted by several. */
const claimLua = `
for _, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if owner and owner ~= ARGV[1] then redis.call('SET', key, 'shared', 'PX', ARGV[2])
  else redis.call('SET', key, ARGV[1], 'PX', ARGV[2]) end
end`;

export interface TraceClaim {
  token: string;
  /** Of the claimed traces, by project. */
  traces: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Says, before its spans are inserted, that a batch is about to touch its traces. If nobody else has said so by the time they are
 * stored, no other batch can have inserted spans of these traces unseen meanwhile.
 */
export async function claimTraces(redis: Redis, entries: readonly BatchEntry[]): Promise<TraceClaim> {
  const claim: TraceClaim = { token: randomUUID(), traces: tracesByProject(entries) };
  const keys = keysOf(claim.traces);
  await redis.eval(claimLua, keys.length, ...keys, claim.token, claimMs);
  return claim;
}

/** The traces that are still this batch's alone, by project. */
export async function soleTraces(redis: Redis, claim: TraceClaim): Promise<Map<string, Set<string>>> {
  const owners = await redis.mget(keysOf(claim.traces));
  const sole = new Map<string, Set<string>>();
  let index = 0;
  for (const [projectId, traceIds] of claim.traces) {
    sole.set(projectId, new Set([...traceIds].filter(() => owners[index++] === claim.token)));
  }
  return sole;
}

function tracesByProject(entries: readonly BatchEntry[]): Map<string, Set<string>> {
  const byProject = new Map<string, Set<string>>();
  for (const { projectId, encoded } of entries) {
    const traceIds = byProject.get(projectId) ?? new Set<string>();
    for (const { traceId } of encoded.traces) traceIds.add(traceId);
    byProject.set(projectId, traceIds);
  }
  return byProject;
}

function keysOf(traces: TraceClaim['traces']): string[] {
  return [...traces].flatMap(([projectId, traceIds]) => [...traceIds].map((id) => `${projectId}:trace-claim:${id}`));
}
