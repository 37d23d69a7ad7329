import { expect, test } from 'vitest';
import { patiently } from '../../../src/domains/optimization/patiently.ts';
import { StatementTooSlowError, UnavailableError } from '../../../src/lib/errors.ts';

/** Fails once with the error. */
function failingOnce(error: Error): () => Promise<string> {
  let isFirst = true;
  return async () => {
    if (!isFirst) return 'done';
    isFirst = false;
    throw error;
  };
}

test('what a store could not do is done again', async () => {
  const away = failingOnce(new UnavailableError('postgres_unavailable', 'away'));
  expect(await patiently(new AbortController().signal, away)).toBe('done');
});

test('a statement that took too long is not sent again, because it may always take too long', async () => {
  const slow = new StatementTooSlowError('query_timeout', 'A statement took too long');
  await expect(patiently(new AbortController().signal, failingOnce(slow))).rejects.toBe(slow);
});
