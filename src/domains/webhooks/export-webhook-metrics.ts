import { cachedFor } from '../../lib/cached-for.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { countsKeys } from '../../stores/redis/names.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { webhookTimes } from './judge-attempt.ts';
import { readPending } from './webhook-metrics-store.ts';

/** Both gauges of one scrape come from one statement. */
const cacheMs = 1_000;

/** Exports the attempts of all workers by outcome, and what waits to be sent. */
export function exportWebhookMetrics(
  metrics: Pick<Metrics, 'exportCounts' | 'exportGauge'>,
  { redis, postgres }: { redis: Redis; postgres: Postgres },
): void {
  const pending = cachedFor(cacheMs, () => readPending(postgres, webhookTimes.windowMs));
  metrics.exportCounts({
    name: 'webhook_attempts_total',
    help: 'Attempts to send an event to a webhook by outcome, counted over all processes',
    labels: ['outcome'],
    async read() {
      const counts = await redis.hgetall(countsKeys.webhookAttempts);
      return Object.entries(counts).map(([outcome, count]) => ({ outcome, count: Number(count) }));
    },
  });
  metrics.exportGauge({
    name: 'webhook_deliveries_pending',
    help: 'Deliveries that wait to be sent or to be tried again, counted up to 100,000',
    labels: [],
    read: async () => [{ value: (await pending()).count }],
  });
  metrics.exportGauge({
    name: 'webhook_deliveries_oldest_pending_seconds',
    help: 'Time since the event of the oldest pending delivery',
    labels: [],
    read: async () => [{ value: (await pending()).oldestS }],
  });
}
