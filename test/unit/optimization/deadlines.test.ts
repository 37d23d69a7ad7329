import { once } from 'node:events';
import { expect, test } from 'vitest';
import { deadlinesOf } from '../../../src/domains/optimization/deadlines.ts';

const hourMs = 3_600_000;
const config = { budget: { maxDurationS: 600 } };

test('the time in which no worker had a run does not count for its deadlines', async () => {
  const startedAt = new Date(Date.now() - hourMs);
  const waited = deadlinesOf({ startedAt, config, progress: { idleMs: hourMs } });
  const worked = deadlinesOf({ startedAt, config, progress: {} });
  await Promise.all([once(worked.search, 'abort'), once(worked.holdout, 'abort')]);
  expect([waited.search.aborted, waited.holdout.aborted]).toEqual([false, false]);
});
