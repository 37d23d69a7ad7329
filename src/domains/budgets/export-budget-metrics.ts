import type { Redis } from '../../stores/redis/client.ts';
import { countsKeys } from '../../stores/redis/names.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** Exports what the checks of budgets of all workers did. */
export function exportBudgetMetrics(
  metrics: Pick<Metrics, 'exportCounts' | 'exportGauge'>,
  { redis }: { redis: Redis },
): void {
  const read = async (field: string) => Number((await redis.hget(countsKeys.budgets, field)) ?? 0);
  metrics.exportCounts({
    name: 'budget_thresholds_total',
    help: 'Thresholds of budgets that were reached, counted over all processes',
    labels: [],
    read: async () => [{ count: await read('fired') }],
  });
  metrics.exportCounts({
    name: 'budget_check_failures_total',
    help: 'Budgets that could not be checked, counted over all processes',
    labels: [],
    read: async () => [{ count: await read('failures') }],
  });
  metrics.exportGauge({
    name: 'budget_check_duration_seconds',
    help: 'Duration of the last check of all budgets',
    labels: [],
    read: async () => [{ value: (await read('check_ms')) / 1_000 }],
  });
  metrics.exportGauge({
    name: 'budget_check_age_seconds',
    help: 'Time since the last check of all budgets ended; absent before the first',
    labels: [],
    async read() {
      const atMs = await read('checked_at_ms');
      return atMs === 0 ? [] : [{ value: Math.max(0, (Date.now() - atMs) / 1_000) }];
    },
  });
}
