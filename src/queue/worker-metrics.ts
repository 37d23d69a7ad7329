import type { KeptCounts, KeptGauge } from '../telemetry/metrics.ts';
import type { WorkerFigures } from './worker-figures.ts';

type Read = () => Promise<readonly WorkerFigures[]>;

/** Returns the Prometheus counter of what each worker has stored. Its rate is the drain of the queues. */
export function workerCounts(read: Read): KeptCounts<'worker'> {
  return {
    name: 'worker_spans_stored_total',
    help: 'Spans that a worker has stored since it started',
    labels: ['worker'],
    read: async () => (await read()).map(({ workerId, storedSpans }) => ({ worker: workerId, count: storedSpans })),
  };
}

/** Returns the Prometheus gauge of how late the spans of each worker become readable. */
export function workerFreshness(read: Read): KeptGauge<'worker'> {
  return {
    name: 'worker_freshness_p95_seconds',
    help: 'Time from the receipt of a body until its spans are readable, 95th percentile of the last bodies of a worker',
    labels: ['worker'],
    read: async () =>
      (await read()).flatMap(({ workerId, freshnessP95Ms }) =>
        freshnessP95Ms === null ? [] : [{ worker: workerId, value: freshnessP95Ms / 1_000 }],
      ),
  };
}
