import { once } from 'node:events';
import { request } from 'node:http';
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, inject, test } from 'vitest';

const clickhouse = new URL(inject('clickhouseUrl'));
const redis = new URL(inject('redisUrl'));

/** Sends a query as it is told to, past every client's habits; resolves with status and answer. */
async function ask(
  headers: Record<string, string>,
  path = '/?query=SELECT%201',
): Promise<[number | undefined, string]> {
  const outgoing = request({ host: '127.0.0.1', port: clickhouse.port, path, method: 'POST', headers });
  outgoing.end();
  const [answer] = await once(outgoing, 'response');
  return [answer.statusCode, await text(answer)];
}

const basic = (password: string) => `Basic ${Buffer.from(`promptlane:${password}`).toString('base64')}`;
const authorization = basic(clickhouse.password);

describe('the embedded ClickHouse', () => {
  test('answers who knows its password, told in any of the three ways of a real server', async () => {
    expect(clickhouse.password).toMatch(/^[\w-]{32}$/);
    expect(await ask({ authorization })).toEqual([200, '1\n']);
    expect(await ask({ 'x-clickhouse-key': clickhouse.password })).toEqual([200, '1\n']);
    expect(await ask({}, `/?query=SELECT%201&password=${clickhouse.password}`)).toEqual([200, '1\n']);
  });

  test.each<[string, Record<string, string>]>([
    ['no password', {}],
    ['another password', { authorization: basic('guess') }],
    ['an empty one', { authorization: basic('') }],
    ['another Host', { authorization, host: 'evil.example' }],
    ['a Host that begins well', { authorization, host: `127.0.0.1.evil.example:${clickhouse.port}` }],
    ['the Origin of a web page', { authorization, origin: 'https://evil.example' }],
    ['the Origin of another page of this machine', { authorization, origin: 'http://127.0.0.1:3000' }],
    ['the Origin of a sandbox', { authorization, origin: 'null', 'content-type': 'text/plain' }],
  ])('with %s turns a query away', async (_what, headers) => {
    const [status, answer] = await ask(headers);
    expect([403, 421]).toContain(status);
    expect(answer).toMatch(/AUTHENTICATION_FAILED|is not this server/);
    expect(answer).not.toContain(clickhouse.password);
  });

  test('answers a ping to everybody on this machine, under its own name', async () => {
    expect(await ask({}, '/ping')).toEqual([200, 'Ok.\n']);
    expect((await ask({ host: 'evil.example' }, '/ping'))[0]).toBe(421);
  });
});

describe('the embedded Redis', () => {
  const say = async (commands: string): Promise<string> => {
    const socket = createConnection(Number(redis.port), '127.0.0.1');
    socket.end(commands);
    return text(socket);
  };

  test('turns away who does not know its password', async () => {
    expect(redis.password).toMatch(/^[\w-]{32}$/);
    expect(await say('PING\r\nQUIT\r\n')).toMatch(/^-NOAUTH/);
    expect(await say('AUTH guess\r\nPING\r\nQUIT\r\n')).toMatch(/^-WRONGPASS/);
    expect(await say(`AUTH ${redis.password}\r\nPING\r\nQUIT\r\n`)).toMatch(/^\+OK\r\n\+PONG/);
  });
});
