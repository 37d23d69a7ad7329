import type { Redis } from '../stores/redis/client.ts';
import { summaryKeys } from '../stores/redis/names.ts';
import { type IngestOutcome, ingestOutcome } from './job-catalog.ts';

/** A body whose spans all belong to one trace. */
export interface AwaitedBody {
  jobId: string;
  projectId: string;
  traceId: string;
}

/**
 * KEYS, for each body: the keys of its job in every lane, then the due list of its project. ARGV:
 * the number of lanes, then the trace ids.
 */
const outcomesLua = `
local lanes = tonumber(ARGV[1])
local outcomes = {}
for i = 2, #ARGV do
  local before = (i - 2) * (lanes + 1)
  local outcome = false
  for lane = 1, lanes do outcome = outcome or redis.call('HGET', KEYS[before + lane], 'returnvalue') end
  if outcome == '"stored"' and redis.call('ZSCORE', KEYS[before + lanes + 1], ARGV[i]) then outcome = false end
  outcomes[i - 1] = outcome
end
return outcomes`;

/**
 * Reads the outcome of each body. It is undefined while the job waits or runs, while the trace is
 * stored but not summarized yet, and when the job is unknown. `jobKeysOf` returns the keys of a job
 * in every lane.
 * @throws the error of Redis
 */
export async function readOutcomes(
  redis: Redis,
  jobKeysOf: (jobId: string) => string[],
  bodies: readonly AwaitedBody[],
): Promise<(IngestOutcome | undefined)[]> {
  const keys = bodies.map(({ jobId, projectId }) => [...jobKeysOf(jobId), summaryKeys(projectId).due]);
  const lanes = (keys[0]?.length ?? 1) - 1;
  const traceIds = bodies.map(({ traceId }) => traceId);
  const answers = await redis.eval(outcomesLua, keys.flat().length, ...keys.flat(), lanes, ...traceIds);
  return (answers as (string | null)[]).map((answer) =>
    answer === null ? undefined : ingestOutcome.safeParse(JSON.parse(answer)).data,
  );
}
