import { afterAll, expect, test } from 'vitest';
import { scoreInThread } from '../../../src/domains/optimization/score-in-thread.ts';
import { TemplateThreads } from '../../../src/domains/templates/index.ts';
import { watchLoop } from '../../support/loop-delay.ts';

const threads = new TemplateThreads();
afterAll(() => threads.close());
const score = scoreInThread(threads, { workspaceId: 'wsp_of_the_test' }, new AbortController().signal);
const inputOf = (output: string) => ({ output, expected: { a: 1 }, inputs: {}, note: undefined });

test('an output is scored as in this thread', async () => {
  const metric = { type: 'regex', options: { pattern: '^a+$' } };
  expect(await score(metric, inputOf('aaa'))).toEqual({ score: 1, feedback: '' });
  expect(await score(metric, inputOf('b'))).toMatchObject({
    score: 0,
    feedback: expect.stringContaining('does not match'),
  });
});

test('patterns that take too long give an error instead of a score, and hold nobody up', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`k${index}`, { pattern: `${'\\pL'.repeat(600)}${index}` }]),
  );
  const loop = watchLoop();
  const result = await score({ type: 'json_schema', options: { schema: { properties } } }, inputOf('{}'));
  expect(loop.stop()).toBeLessThan(100);
  const message = /^metric_too_slow: json_schema: Scoring an output takes longer than 300 ms/;
  expect(result).toEqual({ error: expect.stringMatching(message) });
});

test('a run that stops does not wait for its scores', async () => {
  const stop = new AbortController();
  const scoreUntilStopped = scoreInThread(threads, { workspaceId: 'wsp_that_stops' }, stop.signal);
  const letters = Array.from({ length: 60_000 }, (_, index) => ((index * index) % 7 < 3 ? 'a' : 'b')).join('');
  const metric = { type: 'regex', options: { pattern: '[ab]*a[ab]{400}[cd]' } };
  const scores = Array.from({ length: 32 }, () => scoreUntilStopped(metric, inputOf(letters)));
  const startedAtMs = performance.now();
  stop.abort(new Error('stopped'));
  for (const outcome of await Promise.allSettled(scores)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'stopped' } });
  }
  expect(performance.now() - startedAtMs).toBeLessThan(500);
});

test('an output that is nested too deep is no JSON', async () => {
  const result = await score({ type: 'json_equal' }, inputOf('['.repeat(100_000) + ']'.repeat(100_000)));
  expect(result).toMatchObject({ score: 0, feedback: expect.stringContaining('not JSON') });
});
