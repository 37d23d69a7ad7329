import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { OutcomeUnknownError, originOf, StatementTooSlowError, UnavailableError } from '../../../src/lib/errors.ts';
import { connectPostgres, type Postgres } from '../../../src/stores/postgres/client.ts';
import { postgresAway, recognizePostgresError } from '../../../src/stores/postgres/errors.ts';
import { inTransaction } from '../../../src/stores/postgres/transaction.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
}

function connect(port: number): Postgres {
  const postgres = connectPostgres(`postgres://u:p@127.0.0.1:${port}/d`, 1);
  closing.push(() => postgres.destroy());
  return postgres;
}

async function nowhere(): Promise<Postgres> {
  const server = createServer();
  const port = await portOf(server);
  server.close();
  await once(server, 'close');
  return connect(port);
}

async function listening(greet: (socket: Socket) => void): Promise<Postgres> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    greet(socket);
  });
  const port = await portOf(server);
  closing.push(() => server.close());
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  return connect(port);
}

const failureOf = (work: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(work).then(
    (value) => expect.unreachable(`It resolved to ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );

const uses: [string, (postgres: Postgres) => PromiseLike<unknown>][] = [
  ['a raw statement', (postgres) => postgres.raw('select 1')],
  ['a built statement', (postgres) => postgres('users').where({ id: 'usr_1' }).first('id')],
  ['a transaction', (postgres) => postgres.transaction((transaction) => transaction.raw('select 1'))],
  ['our transaction', (postgres) => inTransaction(postgres, (transaction) => transaction.raw('select 1'))],
];

describe.each(uses)('%s', (_name, use) => {
  test('at a port that nothing listens at is an error for the caller, which keeps the reason', async () => {
    const error = await failureOf(use(await nowhere()));
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).not.toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ code: 'postgres_unavailable', message: expect.not.stringContaining('select') });
    expect(originOf(error)).toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('at a server that hangs up is one too', async () => {
    const error = await failureOf(use(await listening((socket) => socket.destroy())));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'postgres_unavailable' });
  });

  test('at a server that gives no answer is one too, when no connection is there in time', async () => {
    const error = await failureOf(use(await listening(() => undefined)));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'postgres_unavailable' });
  });
});

test.each([
  ['a slug that is taken', Object.assign(new Error('duplicate key'), { code: '23505' })],
  [
    'a statement with too many bindings',
    Object.assign(new Error('bind message has 1 parameter formats but 0 parameters'), { code: '08P01' }),
  ],
  ['an error for a caller', postgresAway()],
  ['an outcome that is not known', new OutcomeUnknownError('postgres_unavailable', 'away', { transactionId: '1' })],
  ['a fault of ours', new TypeError('ours')],
])('%s is not taken for a database that is away', (_what, error) => expect(recognizePostgresError(error)).toBe(error));

test.each([
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
  '08007',
  '08P01',
  '28000',
  '28P01',
  '3D000',
  '53100',
  '53300',
  '57P01',
  '57P04',
  '57P05',
  '58000',
  '58030',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
])('the code %s is a database that is away', (code) => {
  const error = recognizePostgresError(Object.assign(new Error('connection failure'), { code }));
  expect(error).toMatchObject({ kind: 'unavailable', code: 'postgres_unavailable' });
});

test('a database that is read-only has changed nothing, which the caller is told', () => {
  const cause = Object.assign(new Error('cannot execute INSERT in a read-only transaction'), { code: '25006' });
  const error = recognizePostgresError(cause);
  expect(error).toMatchObject({ kind: 'unavailable', code: 'postgres_unavailable', retryAfterS: 5, cause });
  expect(error).toMatchObject({ message: expect.stringMatching(/read-only.*Nothing was changed/) });
});

test('a statement that exceeds a limit of the configuration is not tried without end', () => {
  const cause = Object.assign(new Error('temporary file size exceeds temp_file_limit'), { code: '53400' });
  const error = recognizePostgresError(cause);
  expect(error).toBeInstanceOf(StatementTooSlowError);
  expect(error).toMatchObject({ code: 'postgres_unavailable' });
});

test.each([
  ['took too long', '57014', true],
  ['waited too long for a lock', '55P03', false],
])('a statement that %s is an error for the caller, who may try again', (_what, code, mayAlwaysTakeTooLong) => {
  const error = recognizePostgresError(Object.assign(new Error('canceling statement'), { code }));
  expect(error).toMatchObject({ kind: 'unavailable', code: 'query_timeout', retryAfterS: 5 });
  expect(error instanceof StatementTooSlowError).toBe(mayAlwaysTakeTooLong);
});
