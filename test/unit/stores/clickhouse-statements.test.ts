import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { ClickHouseError } from '@clickhouse/client';
import { afterEach, describe, expect, test } from 'vitest';
import { originOf, TooLargeError, UnavailableError } from '../../../src/lib/errors.ts';
import { type ClickHouse, connectClickHouse, stoppable } from '../../../src/stores/clickhouse/client.ts';
import { recognizeReadError } from '../../../src/stores/clickhouse/errors.ts';
import { insertBlock } from '../../../src/stores/clickhouse/insert-block.ts';
import { field, plain, rowReader } from '../../../src/stores/clickhouse/row-reader.ts';
import { readFields, readRows, runStatement, streamFields } from '../../../src/stores/clickhouse/statements.ts';
import { startRefusingClickHouse } from '../../support/refusing-clickhouse.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function connect(url: string): ClickHouse {
  const clickhouse = connectClickHouse(url, { requestTimeoutMs: 5_000 });
  closing.push(() => clickhouse.close());
  return clickhouse;
}

/** A client of a ClickHouse that answers everything so. */
async function answering(answer: RequestListener): Promise<ClickHouse> {
  const server = createServer(answer);
  closing.push(() => server.closeAllConnections());
  closing.push(() => server.close());
  return connect(`http://127.0.0.1:${await portOf(server)}`);
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
}

/** A client of a port that nothing listens at. */
async function nowhere(): Promise<ClickHouse> {
  const server = createServer();
  const port = await portOf(server);
  server.close();
  await once(server, 'close');
  return connect(`http://127.0.0.1:${port}`);
}

const refusal =
  (code: number): RequestListener =>
  (_request, response) => {
    response.writeHead(500, { 'X-ClickHouse-Exception-Code': String(code) });
    response.end(`Code: ${code}. DB::Exception: Refused. (SOME_ERROR) (version 26.7.1)`);
  };

/** Fails after the first row, as ClickHouse does: with 200 and the error behind the rows. */
const failureAfterARow =
  (code: number): RequestListener =>
  (_request, response) => {
    const said = `Code: ${code}. DB::Exception: Refused. (SOME_ERROR) (version 26.7.1)\n`;
    response.writeHead(200, { 'X-ClickHouse-Exception-Tag': 'tagtagtag' });
    response.end(`[1]\n\r\n__exception__\r\ntagtagtag\r\n${said}${said.length} tagtagtag\r\n__exception__\r\n`);
  };

/** The same failure when the network delivers the text of the error in two pieces. */
const failureInTwoPieces: RequestListener = (_request, response) => {
  response.writeHead(200, { 'X-ClickHouse-Exception-Tag': 'tagtagtag' });
  response.write('[1]\n\r\n__exception__\r\ntagtagtag\r\nCode: 241. DB::Ex', () =>
    setTimeout(() => response.destroy(), 20),
  );
};

const breakAfterARow: RequestListener = (_request, response) => {
  response.writeHead(200);
  response.write('[1]\n', () => setTimeout(() => response.destroy(), 20));
};

const reader = rowReader({ a: plain<number>('1') });
const query = { query: 'SELECT 1 AS a' };

async function streamed(clickhouse: ClickHouse): Promise<unknown[]> {
  const read: unknown[] = [];
  for await (const { row } of streamFields(clickhouse, reader, query)) read.push(row);
  return read;
}

const uses: Record<string, (clickhouse: ClickHouse) => Promise<unknown>> = {
  readRows: (clickhouse) => readRows(clickhouse, { ...query, format: 'JSONEachRow' }),
  'readRows of a client that can be stopped': (clickhouse) =>
    readRows(stoppable(clickhouse, new AbortController().signal), { ...query, format: 'JSONEachRow' }),
  readFields: (clickhouse) => readFields(clickhouse, reader, query),
  streamFields: streamed,
  runStatement: (clickhouse) => runStatement(clickhouse, query),
  insertBlock: (clickhouse) => insertBlock(clickhouse, { table: 't', columns: ['a'], block: [Buffer.from('a')] }),
};
const reads = ['readRows', 'readRows of a client that can be stopped', 'readFields', 'streamFields'].map(
  (name) => [name, uses[name] as (typeof uses)[string]] as const,
);

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => expect.unreachable(`It resolved to ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );

describe.each(Object.entries(uses))('%s', (_name, use) => {
  test('of a ClickHouse that is away throws an error for the caller, which keeps the reason', async () => {
    const error = await failureOf(use(await nowhere()));
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ code: 'clickhouse_unavailable' });
    expect(originOf(error)).toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('of a ClickHouse without a replica that answers throws one too', async () => {
    const error = await failureOf(use(await answering(refusal(279))));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
    expect(originOf(error)).toBeInstanceOf(ClickHouseError);
  });

  test('passes on what only our statement can be the cause of', async () => {
    const error = await failureOf(use(await answering(refusal(62))));
    expect(error).toBeInstanceOf(ClickHouseError);
    expect(error).toMatchObject({ code: '62' });
  });
});

describe.each(reads)('%s, while the answer is read', (_name, read) => {
  test('throws an error for the caller when the connection breaks', async () => {
    const error = await failureOf(read(await answering(breakAfterARow)));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
  });

  test('throws one when the text of the error of ClickHouse arrives in two pieces', async () => {
    const error = await failureOf(read(await answering(failureInTwoPieces)));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
  });

  test.each([
    [241, TooLargeError, 'query_too_large'],
    [159, UnavailableError, 'query_timeout'],
    [396, TooLargeError, 'result_too_large'],
  ] as const)('throws one when ClickHouse fails with %i after the first row', async (code, kind, ours) => {
    const error = await failureOf(read(await answering(failureAfterARow(code))));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code: ours });
    expect(originOf(error)).toMatchObject({ code: String(code) });
  });
});

/** Errors of the server, whose names are in the table of reads. */
const ofEngine = [33, 40, 49, 74, 88, 107, 246, 271, 1001, 1002];

describe.each(reads)('%s, of a server that is broken', (_name, read) => {
  test.each(ofEngine)('throws an error for the caller when it answers with %i', async (code) => {
    const error = await failureOf(read(await answering(refusal(code))));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
    expect(originOf(error)).toMatchObject({ code: String(code) });
  });

  test.each(ofEngine)('throws one when it fails with %i after the first row', async (code) => {
    const error = await failureOf(read(await answering(failureAfterARow(code))));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
  });

  test('throws one when it answers with an error that is not of its own type', async () => {
    const said = 'std::exception. Code: 1001, type: std::length_error, e.what() = vector (version 26.7.2.1)';
    const error = await failureOf(read(await answering((_request, response) => response.writeHead(500).end(said))));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
    expect(originOf(error)).toMatchObject({ message: said });
  });

  test.each([
    ['ends within a row', '[1]\n[2', 'ended within a row'],
    ['ends after a row without its end', '[1]\n[2]', 'ended within a row'],
    ['has a row that was cut', '[1]\n[2\n[3]\n', 'JSON'],
    ['has the text of an error between the rows', '[1]\nCode: 241. DB::Exception: Refused.\n', 'JSON'],
  ])('throws one when an answer with a proper end %s', async (_what, text, reason) => {
    const error = await failureOf(read(await answering((_request, response) => response.end(text))));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
    expect(originOf(error)).toMatchObject({ message: expect.stringContaining(reason) });
  });

  test('throws one when what answers does not speak HTTP', async () => {
    const server = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));
    closing.push(() => server.close());
    const error = await failureOf(read(connect(`http://127.0.0.1:${await portOf(server)}`)));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
    expect(originOf(error)).toMatchObject({ code: expect.stringMatching(/^HPE_/) });
  });

  test('returns no rows for an answer without any', async () => {
    expect(await read(await answering((_request, response) => response.end()))).toEqual([]);
  });
});

test.each(['ENOBUFS', 'EADDRNOTAVAIL', 'HPE_HEADER_OVERFLOW'])('a read of a machine without sockets, %s', (code) => {
  const error = recognizeReadError(Object.assign(new Error(`connect ${code}`), { code }));
  expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
});

test.each([
  ['a fault of our own code', new TypeError('ours')],
  ['a value that our own code cannot parse', new SyntaxError('Cannot convert x to a BigInt')],
  ['a statement that is wrong', new ClickHouseError({ code: '62', message: 'said', type: 'SYNTAX_ERROR' })],
])('a read that fails by %s keeps its error', (_what, error) => expect(recognizeReadError(error)).toBe(error));

test('a value that our own code cannot decode is no error of ClickHouse', async () => {
  const clickhouse = await answering((_request, response) => response.end('["x"]\n'));
  const numbers = rowReader({ a: field('1', (text: string) => BigInt(text)) });
  expect(await failureOf(readFields(clickhouse, numbers, query))).toBeInstanceOf(SyntaxError);
});

/** Errors of its files, which pass whatever the rows are. */
const ofFiles = [74, 88];

test.each(ofFiles)('an insert that is refused with %i throws an error for the caller', async (code) => {
  const error = await failureOf(uses.insertBlock?.(await answering(refusal(code))) ?? Promise.resolve());
  expect(error).toMatchObject({ kind: 'unavailable', code: 'clickhouse_unavailable' });
  expect(originOf(error)).toMatchObject({ code: String(code) });
});

test.each(ofEngine.filter((code) => !ofFiles.includes(code)))(
  'an insert that is refused with %i keeps what ClickHouse said',
  async (code) => {
    const error = await failureOf(uses.insertBlock?.(await answering(refusal(code))) ?? Promise.resolve());
    expect(error).toBeInstanceOf(ClickHouseError);
    expect(error).toMatchObject({ code: String(code) });
  },
);

test('streamFields closes the connection when its reader stops early', async () => {
  let left = false;
  const clickhouse = await answering((_request, response) => {
    response.on('close', () => {
      left = true;
    });
    response.write('[1]\n');
  });
  for await (const streamed of streamFields(clickhouse, reader, query)) {
    expect(streamed).toEqual({ row: { a: 1 }, length: 3 });
    break;
  }
  await expect.poll(() => left).toBe(true);
});

test('an insert whose rows are refused says what ClickHouse said, as the one who retries needs it', async () => {
  const engine = await startRefusingClickHouse((_body, nth) => (nth === 0 ? 117 : 241), { table: 't' });
  closing.push(() => engine.close());
  const insert = () => failureOf(uses.insertBlock?.(connect(engine.url)) ?? Promise.resolve());
  expect(await insert()).toMatchObject({ code: '117', type: 'SOME_ERROR' });
  expect(originOf(await insert())).toMatchObject({ code: '241', type: 'SOME_ERROR' });
});
