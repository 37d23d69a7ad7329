import { expect, test } from 'vitest';
import { patiently } from '../../../src/domains/optimization/patiently.ts';
import { StatementTooSlowError, UnavailableError } from '../../../src/lib/errors.ts';

/** Fails so many times with the error. */
function failing(times: number, error: Error): () => Promise<string> {
  let left = times;
  return async () => {
    if (left === 0) return 'done';
    left -= 1;
    throw error;
  };
}
const { signal } = new AbortController();

test('what a store could not do is done again', async () => {
  const away = failing(1, new UnavailableError('postgres_unavailable', 'away'));
  expect(await patiently(signal, away)).toBe('done');
});

test('a statement that took too long, as one that waits for a lock, is sent four times, because it may always take too long', async () => {
  const slow = new StatementTooSlowError('query_timeout', 'A statement took too long');
  expect(await patiently(signal, failing(3, slow))).toBe('done');
  await expect(patiently(signal, failing(4, slow))).rejects.toBe(slow);
});
