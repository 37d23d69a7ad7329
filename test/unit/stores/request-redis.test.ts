import net from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { connectRequestRedis, firstConnection } from '../../../src/stores/redis/client.ts';
import { until } from '../../support/until.ts';

/** Answers as a Redis that is a cluster of one node would, but closes the connection of the first INCR. */
async function startNode(): Promise<{ port: number; incremented: () => number; close: () => void }> {
  let incremented = 0;
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (const [, words = ''] of data.toString().matchAll(/\*\d+\r\n((?:\$\d+\r\n[^\r]*\r\n)+)/g)) {
        const [command, subcommand] = [...words.matchAll(/\r\n([^\r]*)\r\n/g)].map(([, word = '']) =>
          word.toLowerCase(),
        );
        if (command === 'incr' && ++incremented === 1) return void socket.destroy();
        socket.write(command === 'incr' ? `:${incremented}\r\n` : answerTo(command, subcommand));
      }
    });
  });
  const answerTo = (command = '', subcommand = '') => {
    if (command === 'info') return '$11\r\nloading:0\r\n\r\n';
    if (command === 'cluster' && subcommand === 'slots')
      return `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`;
    return '+OK\r\n';
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return { port, incremented: () => incremented, close: () => void server.close() };
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

test.each([
  ['one Redis', 'redis'],
  ['a node of a cluster', 'redis+cluster'],
])('a command of a request whose connection to %s breaks fails, and is not sent again', async (_which, scheme) => {
  const node = await startNode();
  const redis = connectRequestRedis(`${scheme}://127.0.0.1:${node.port}`);
  redis.on('error', () => undefined);
  closers.push(node.close, () => redis.disconnect());
  await firstConnection(redis);
  await expect(redis.incr('counted')).rejects.toThrow();
  await until('it is connected again', 5_000, async () => (await redis.set('a', '1').catch(() => undefined)) === 'OK');
  expect(node.incremented()).toBe(1);
});
