import type { Socket } from 'node:net';
import knex, { type Knex } from 'knex';
import type pg from 'pg';
import { TimeoutError } from '../../lib/within.ts';
import { RecognizingDialect } from './dialect.ts';

export type Postgres = Knex;
export type Transaction = Knex.Transaction;

/** The user of the service has this limit; see `limitStatements` in service-role.ts. */
export const statementMsMax = 10_000;
/** The server ends a transaction of the service that gets no statement for so long: a frozen process keeps no locks. */
export const idleInTransactionMsMax = 5_000;
/** A server that is away refuses at once. A busy one takes seconds to start processes for new connections. */
const connectMsMax = 5_000;
/**
 * The server itself ends a slow statement. If there is no answer after this extra time, the server
 * or the network is frozen.
 */
const silenceGraceMs = 2_000;

/**
 * Creates a connection pool. The wait for a connection ends after 5 s, a statement after 10 s, and a
 * transaction without statements after 5 s, if the migrations limited its user; a statement after 12 s if the server is
 * frozen. All its errors that mean an unavailable database are
 * UnavailableError.
 */
export function connectPostgres(databaseUrl: string, poolMax = 10): Postgres {
  return connect(databaseUrl, poolMax, (connection, done) => {
    closeWhenSilent(connection, statementMsMax);
    done();
  });
}

/** A migration may rewrite a table of any size. */
const migrationMsMax = 60 * 60_000;

/** Creates a connection pool as {@link connectPostgres} does, whose statements may take an hour. */
export function connectForMigrations(databaseUrl: string, poolMax: number): Postgres {
  return connect(databaseUrl, poolMax, (connection, done) => {
    closeWhenSilent(connection, migrationMsMax);
    connection.query(`set statement_timeout = ${migrationMsMax}`, (error) => done(error ?? undefined));
  });
}

type AfterCreate = (connection: pg.Client, done: (error?: Error) => void) => void;

function connect(databaseUrl: string, poolMax: number, afterCreate: AfterCreate): Postgres {
  return knex({
    client: RecognizingDialect,
    // Otherwise knex writes bound values into error messages.
    compileSqlOnError: false,
    // Failures are thrown. Knex would also print them on standard output, past our logger.
    log: { warn: () => undefined, error: () => undefined },
    connection: {
      connectionString: databaseUrl,
      application_name: 'promptlane',
      connectionTimeoutMillis: connectMsMax,
    },
    pool: { min: 0, max: poolMax, afterCreate },
    acquireConnectionTimeout: connectMsMax,
  });
}

/** Allows each statement of a transaction `statementMs`, until the transaction ends. */
export async function allowStatements(transaction: Transaction, statementMs: number): Promise<void> {
  await transaction.raw(`set local statement_timeout = ${statementMs}`);
  const socket = socketOf(await transaction.client.acquireConnection());
  socket.setTimeout(statementMs + silenceGraceMs);
  const restore = () => socket.setTimeout(statementMsMax + silenceGraceMs);
  transaction.executionPromise.then(restore, restore);
}

/** Allows each pause between two statements of a transaction `pauseMs`, until the transaction ends. 0 is no limit. */
export async function allowPauses(transaction: Transaction, pauseMs: number): Promise<void> {
  await transaction.raw(`set local idle_in_transaction_session_timeout = ${pauseMs}`);
}

/**
 * Closes a connection whose statement gets no answer. pg's own `query_timeout` is not enough: it
 * drops the query but keeps the connection, whose transaction is still open.
 */
function closeWhenSilent(connection: pg.Client, statementMs: number): void {
  const socket = socketOf(connection);
  socket.setTimeout(statementMs + silenceGraceMs);
  socket.on('timeout', () => {
    if (!isIdle(connection)) socket.destroy(new TimeoutError('Postgres does not respond'));
  });
}

/** Always a TCP connection: knex never gets another kind of stream. */
const socketOf = (connection: pg.Client) => connection.connection.stream as Socket;

/** `readyForQuery` is missing in @types/pg 8. */
const isIdle = (connection: pg.Client & { readyForQuery?: boolean | null }) => connection.readyForQuery === true;
