import { expect, test } from 'vitest';
import type { CallRow } from '../../../src/domains/analytics/prompt-analytics-queries.ts';
import { seriesOf } from '../../../src/domains/analytics/series-of-calls.ts';
import { noUsage } from '../../../src/domains/spans/index.ts';
import { oneTurn } from '../../../src/lib/pace.ts';
import { countTurns } from '../../support/count-turns.ts';

const rowOf = (key: string, startMs: number, executions: number): CallRow => ({
  ...{ key, bucket: String(startMs), allKeys: 0, allBuckets: 0, groups: 5, executions },
  ...{ traces: 1, errors: 0, users: 1, priced: 1, unpriced: 0, costUnknown: 0, cost: '1000', costP95: 1_000 },
  ...noUsage(),
  ...{ latencyMs: [1, 2, 3, 4], timed: 1, ttftMs: [1, 2], firstNano: '1000000', lastNano: '2000000' },
  ...{ logLatency: 0, logLatencySquares: 0, logPriced: 0, logCost: 0, logCostSquares: 0 },
});
const keys = ['3', '2', '1', '', '5'];
const starts = Array.from({ length: 1_000 }, (_, index) => index * 60_000);
const rows = starts.flatMap((startMs, index) => keys.map((key) => rowOf(key, startMs, index + 1)));
const buckets = { starts, isPartial: (startMs: number) => startMs === 0 };
const groups = keys.map((key) => ({ key }));

test('a series of 5,000 rows has each bucket of each group in their order, and takes several turns of the event loop', async () => {
  const work = () => seriesOf({ rows: rows.slice(5), groups, buckets, grouping: 'version' }, oneTurn);
  const { result, turns } = await countTurns(work);
  const facts = result.map(({ bucket, partial, key, executions }) => [Date.parse(bucket), partial, key, executions]);
  expect(facts).toEqual(
    starts.flatMap((startMs, index) =>
      [3, 2, 1, null, 5].map((key) => [startMs, index === 0, key, index === 0 ? 0 : index + 1]),
    ),
  );
  expect(turns).toBeGreaterThan(3);
});

test('a series leaves out groups whose keys are too large together', async () => {
  const long = ['a', 'b', 'c'].map((key) => ({ key: key.repeat(1_000) }));
  const series = await seriesOf({ rows: [], groups: long, buckets, grouping: 'model' }, oneTurn);
  expect(series).toHaveLength(2_000);
});
