import type { Redis } from '../../stores/redis/client.ts';
import { countsKeys } from '../../stores/redis/names.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { quotaNames } from '../workspaces/index.ts';
import { quotaThresholds, thresholdField } from './record-quota-thresholds.ts';

/** Exports the thresholds of quotas that workspaces reached, without naming a workspace. */
export function exportQuotaMetrics(
  metrics: Pick<Metrics, 'exportCounts' | 'exportGauge'>,
  { redis }: { redis: Redis },
): void {
  metrics.exportCounts({
    name: 'quota_thresholds_total',
    help: 'Thresholds of monthly quotas that workspaces reached, counted over all processes',
    labels: ['resource', 'threshold'],
    async read() {
      const counts = await redis.hgetall(countsKeys.quotas);
      return quotaNames.flatMap((resource) =>
        quotaThresholds.map((threshold) => ({
          ...{ resource, threshold: String(threshold) },
          count: Number(counts[thresholdField(resource, threshold)] ?? 0),
        })),
      );
    },
  });
  metrics.exportCounts({
    name: 'quota_check_failures_total',
    help: 'Checks of the quotas of all workspaces that failed, counted over all processes',
    labels: [],
    read: async () => [{ count: Number((await redis.hget(countsKeys.quotas, 'failures')) ?? 0) }],
  });
  metrics.exportGauge({
    name: 'quota_check_age_seconds',
    help: 'Time since the last check of the quotas of all workspaces ended; absent before the first',
    labels: [],
    async read() {
      const atMs = Number((await redis.hget(countsKeys.quotas, 'checked_at_ms')) ?? 0);
      return atMs === 0 ? [] : [{ value: Math.max(0, (Date.now() - atMs) / 1_000) }];
    },
  });
}
