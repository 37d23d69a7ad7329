import type { Socket } from 'node:net';
import knex, { type Knex } from 'knex';
import type pg from 'pg';
import { TimeoutError } from '../../lib/within.ts';

export type Postgres = Knex;
export type Transaction = Knex.Transaction;

const statementMsMax = 10_000;
/** The server ends a statement itself. One that still has no answer after this long waits for a server, or a network, that is frozen. */
const silenceGraceMs = 2_000;

/** A pool on the given database. Waiting for a connection ends after 2 s, a statement after 10 s, or after 12 s if the server is frozen. */
export function connectPostgres(databaseUrl: string, poolMax = 10): Postgres {
  return knex({
    client: 'pg',
    // Otherwise knex writes bound values into error messages.
    compileSqlOnError: false,
    // What fails is thrown; knex would print it on standard output as well, past our logger.
    log: { warn: () => undefined, error: () => undefined },
    connection: {
      connectionString: databaseUrl,
      application_name: 'promptlane',
      statement_timeout: statementMsMax,
      connectionTimeoutMillis: 2_000,
    },
    pool: {
      min: 0,
      max: poolMax,
      afterCreate(connection: pg.Client, done: () => void) {
        closeWhenSilent(connection);
        done();
      },
    },
    acquireConnectionTimeout: 2_000,
  });
}

/** Lets each statement of a transaction take `statementMs`, until the transaction ends. */
export async function allowStatements(transaction: Transaction, statementMs: number): Promise<void> {
  await transaction.raw(`set local statement_timeout = ${statementMs}`);
  const socket = socketOf(await transaction.client.acquireConnection());
  socket.setTimeout(statementMs + silenceGraceMs);
  const restore = () => socket.setTimeout(statementMsMax + silenceGraceMs);
  transaction.executionPromise.then(restore, restore);
}

/** pg's own `query_timeout` would not do: it gives up the query and keeps the connection, on which the transaction is still open. */
function closeWhenSilent(connection: pg.Client): void {
  const socket = socketOf(connection);
  socket.setTimeout(statementMsMax + silenceGraceMs);
  socket.on('timeout', () => {
    if (!isIdle(connection)) socket.destroy(new TimeoutError('Postgres gives no answer'));
  });
}

/** A TCP connection in all cases: knex is never given a stream of another kind. */
const socketOf = (connection: pg.Client) => connection.connection.stream as Socket;

/** @types/pg 8 does not declare it. */
const isIdle = (connection: pg.Client & { readyForQuery?: boolean | null }) => connection.readyForQuery === true;
