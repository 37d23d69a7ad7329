import type { Redis } from '../stores/redis/client.ts';
import { countsKeys } from '../stores/redis/names.ts';
import type { KeptCounts } from '../telemetry/metrics.ts';

/**
 * What becomes of log records: they are kept as `content` of a span or as an `event` beside it, or
 * they are not kept, for lack of a span, for their level, or for a limit. `rejected` are those that
 * the API refuses. `waiting` are those of the kept ones whose span was not stored yet.
 */
export const logOutcomes = [
  'content',
  'event',
  'waiting',
  'dropped_no_span',
  'dropped_level',
  'dropped_limit',
  'rejected',
] as const;

export type LogOutcome = (typeof logOutcomes)[number];

/**
 * Adds to the counters of log records.
 * @throws the error of Redis
 */
export async function countLogs(redis: Redis, counts: Readonly<Partial<Record<LogOutcome, number>>>): Promise<void> {
  const added = Object.entries(counts).filter(([, count]) => count > 0);
  if (added.length === 0) return;
  const pipeline = redis.pipeline();
  for (const [outcome, count] of added) pipeline.hincrby(countsKeys.logs, outcome, count);
  await pipeline.exec();
}

/** Returns the Prometheus counters of all processes since the Redis data set was created. */
export function logCounts(redis: Redis): KeptCounts<'outcome'> {
  return {
    name: 'log_records_total',
    help: 'OpenTelemetry log records by outcome',
    labels: ['outcome'],
    async read() {
      const counts = await redis.hmget(countsKeys.logs, ...logOutcomes);
      return logOutcomes.map((outcome, index) => ({ outcome, count: Number(counts[index] ?? 0) }));
    },
  };
}
