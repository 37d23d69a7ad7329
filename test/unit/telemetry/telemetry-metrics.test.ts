import { expect, test } from 'vitest';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

test.each([
  ['and without a value is absent', () => Promise.resolve<number[]>([]), []],
  ['that cannot be read is absent, not 0', () => Promise.reject(new Error('away')), []],
  ['that was read has its value', () => Promise.resolve([3]), ['a_gauge 3', 'a_total 3']],
])('a metric without labels %s', async (_what, read, expected) => {
  const metrics = createMetrics();
  metrics.exportGauge({
    name: 'a_gauge',
    help: 'A gauge',
    labels: [],
    read: async () => (await read()).map((value) => ({ value })),
  });
  metrics.exportCounts({
    name: 'a_total',
    help: 'A counter',
    labels: [],
    read: async () => (await read()).map((count) => ({ count })),
  });
  for (let scrape = 0; scrape < 2; scrape++) {
    const lines = (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('a_'));
    expect(lines).toEqual(expected);
  }
});
