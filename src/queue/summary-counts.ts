import type { Redis } from '../stores/redis/client.ts';
import { countsKeys } from '../stores/redis/names.ts';
import type { KeptCounts } from '../telemetry/metrics.ts';

const countedSummaries = ['listed', 'failed', 'mended'] as const;

/**
 * What is counted: `listed` by a batch, `failed` attempts, and `mended`, which the reconciler found
 * missing.
 */
export type CountedSummaries = (typeof countedSummaries)[number];

/**
 * Adds to a counter of summaries.
 * @throws the error of Redis
 */
export async function countSummaries(redis: Redis, outcome: CountedSummaries, count: number): Promise<void> {
  if (count > 0) await redis.hincrby(countsKeys.summaries, outcome, count);
}

/**
 * Returns the Prometheus counters of all workers since the Redis data set was created; 0 if nothing
 * has happened.
 */
export function summaryCounts(redis: Redis): KeptCounts<'outcome'> {
  return {
    name: 'execution_summaries_total',
    help: 'Executions that were put on the list of summaries (listed), could not be summarized (failed), or were repaired because they were missing or incomplete (mended)',
    labels: ['outcome'],
    async read() {
      const counts = await redis.hmget(countsKeys.summaries, ...countedSummaries);
      return countedSummaries.map((outcome, index) => ({ outcome, count: Number(counts[index] ?? 0) }));
    },
  };
}
