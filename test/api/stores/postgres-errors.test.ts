import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { OutcomeUnknownError, originOf, StatementTooSlowError } from '../../../src/lib/errors.ts';
import { connectPostgres, type Postgres } from '../../../src/stores/postgres/client.ts';
import { inTransaction } from '../../../src/stores/postgres/transaction.ts';
import { until } from '../../support/until.ts';

/** One connection, so that a second statement waits for it. Each test has its own, since some end it. */
let postgres: Postgres;
beforeEach(() => {
  postgres = connectPostgres(inject('databaseUrl'), 1);
});
afterEach(() => postgres.destroy());

const failureOf = (work: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(work).then(
    () => expect.unreachable('It resolved'),
    (error: unknown) => error,
  );
const away = { kind: 'unavailable', code: 'postgres_unavailable' };
const endConnection = 'select pg_terminate_backend(pg_backend_pid())';

test('a statement that gets no connection of a full pool is an error for the caller', async () => {
  const error = await inTransaction(postgres, () => failureOf(postgres.raw('select 1')));
  expect(error).toMatchObject(away);
  expect(originOf(error)).toMatchObject({ name: 'KnexTimeoutError' });
});

test('a connection that ends within a statement is one too, and the next statement gets a new one', async () => {
  const error = await failureOf(postgres.raw(endConnection));
  expect(error).toMatchObject({ ...away, message: 'The database cannot be reached at the moment.' });
  expect(originOf(error)).toMatchObject({ code: '57P01' });
  // The pool may not have noticed yet that the connection is gone.
  await until('a statement has a new connection', 5_000, async () => {
    const { rowCount } = await postgres.raw<{ rowCount: number }>('select 1');
    return rowCount === 1;
  });
});

test('a connection that ends within a transaction is one too, and its outcome is known', async () => {
  const error = await failureOf(inTransaction(postgres, (transaction) => transaction.raw(endConnection)));
  expect(error).toMatchObject(away);
  expect(error).not.toBeInstanceOf(OutcomeUnknownError);
});

test('what Postgres says of the statement itself is passed on', async () => {
  const refused = "do $$ begin raise unique_violation using constraint = 'a_live_slug'; end $$";
  const expected = { code: '23505', constraint: 'a_live_slug' };
  expect(await failureOf(postgres.raw(refused))).toMatchObject(expected);
  expect(await failureOf(inTransaction(postgres, (transaction) => transaction.raw(refused)))).toMatchObject(expected);
});

test('a statement that Postgres stops after its time is an error for the caller', async () => {
  const slow = inTransaction(postgres, async (transaction) => {
    await transaction.raw('set local statement_timeout = 1');
    await transaction.raw('select pg_sleep(60)');
  });
  const error = await failureOf(slow);
  expect(error).toBeInstanceOf(StatementTooSlowError);
  expect(error).toMatchObject({ kind: 'unavailable', code: 'query_timeout', cause: { code: '57014' } });
});

test.each([
  ['a password that was changed', '28P01', (url: URL) => Object.assign(url, { password: 'another' })],
  ['a database that does not exist', '3D000', (url: URL) => Object.assign(url, { pathname: '/nowhere' })],
])('%s is an error for the caller, and the reason is kept', async (_what, code, change) => {
  const other = connectPostgres(change(new URL(inject('databaseUrl'))).href, 1);
  const error = await failureOf(other.raw('select 1'));
  await other.destroy();
  expect(error).toMatchObject({ ...away, message: 'The database cannot be reached at the moment.' });
  expect(originOf(error)).toMatchObject({ code });
});
