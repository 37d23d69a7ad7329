import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { OutcomeUnknownError, UnavailableError } from '../../../src/lib/errors.ts';
import { allowPauses, allowStatements, connectPostgres, type Postgres } from '../../../src/stores/postgres/client.ts';
import { inTransaction } from '../../../src/stores/postgres/transaction.ts';
import { startApi, type TestApi } from '../../support/api.ts';

/** Beyond the 12 s after which a connection that owes an answer is given up. */
const longerS = 13;

describe('a connection to Postgres over which nothing comes for thirteen seconds', () => {
  let api: TestApi;
  let postgres: Postgres;
  beforeAll(async () => {
    api = await startApi();
    postgres = connectPostgres(api.config.databaseUrl, 3);
  });
  afterAll(async () => {
    await postgres?.destroy();
    await api?.close();
  });

  test.concurrent('is given up while it owes an answer, whatever the server allows the statement', async () => {
    const slept = inTransaction(postgres, async (transaction) => {
      await transaction.raw('set local statement_timeout = 0');
      await transaction.raw('select pg_sleep(?)', [longerS]);
    });
    await expect(slept).rejects.toMatchObject({ code: 'postgres_unavailable' });
  });

  test.concurrent('is kept for a transaction that may have statements as long as that', async () => {
    const slept = postgres.transaction(async (transaction) => {
      await allowStatements(transaction, 60_000);
      await transaction.raw('select pg_sleep(?)', [longerS]);
    });
    await expect(slept).resolves.toBeUndefined();
  });

  test.concurrent('is kept while it owes none: a transaction that waits for its caller goes on', async () => {
    const beside = connectPostgres(api.config.databaseUrl, 1);
    const waited = postgres.transaction(async (transaction) => {
      await allowPauses(transaction, 60_000);
      await beside.transaction(async (other) => {
        await allowStatements(other, 60_000);
        await other.raw('select pg_sleep(?)', [longerS]);
      });
      return (await transaction.raw('select 1 as one')).rows;
    });
    await expect(waited.finally(() => beside.destroy())).resolves.toEqual([{ one: 1 }]);
  });
});

test('a transaction that gets no statement for five seconds loses its locks, and its next statement is answered 503', async () => {
  const postgres = connectPostgres(inject('serviceDatabaseUrl'), 2);
  const lock = 'select pg_advisory_xact_lock(20261128)';
  const frozen = inTransaction(postgres, async (transaction) => {
    await transaction.raw(lock);
    await postgres.transaction((other) => other.raw(lock));
    await transaction.raw('select 1');
  });
  await expect(frozen.finally(() => postgres.destroy())).rejects.toMatchObject({ code: 'postgres_unavailable' });
});

test('a transaction that is ended before its commit is known to be undone, and its connection is not used again', async () => {
  const postgres = connectPostgres(inject('serviceDatabaseUrl'), 1);
  const beside = connectPostgres(inject('serviceDatabaseUrl'), 1);
  const lock = 'select pg_advisory_xact_lock(20261129)';
  const frozen = inTransaction(postgres, async (transaction) => {
    await transaction.raw(lock);
    await beside.transaction((other) => other.raw(lock));
  });
  const error: unknown = await frozen.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UnavailableError);
  expect(error).not.toBeInstanceOf(OutcomeUnknownError);
  expect((await postgres.raw('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await Promise.all([postgres.destroy(), beside.destroy()]);
});
