import type { KeptGauge } from '../telemetry/metrics.ts';
import type { QueueStats } from './queue-stats.ts';

/** Returns the Prometheus gauges for the depth and age of the queues. */
export function queueGauges(read: () => Promise<readonly QueueStats[]>): KeptGauge<'queue'>[] {
  const gauge = (name: string, help: string, valueIn: (stats: QueueStats) => number): KeptGauge<'queue'> => ({
    name,
    help,
    labels: ['queue'],
    read: async () => (await read()).map((stats) => ({ queue: stats.name, value: valueIn(stats) })),
  });
  return [
    gauge('queue_jobs_waiting', 'Jobs that wait, including jobs that wait for a retry', ({ waiting }) => waiting),
    gauge('queue_jobs_active', 'Jobs that workers are processing', ({ active }) => active),
    gauge('queue_oldest_age_seconds', 'Age of the next job', ({ oldestAgeMs }) => (oldestAgeMs ?? 0) / 1_000),
  ];
}
