import net from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { connectRequestRedis, firstConnection } from '../../../src/stores/redis/client.ts';
import { until } from '../../support/until.ts';

interface Node {
  port: number;
  increments: number;
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Answers as Redis does, or as the nodes of a cluster which share its slots. The first increments close the connection. */
async function startNodes(count: number, { breaking }: { breaking: number }): Promise<Node[]> {
  const nodes: Node[] = [];
  const slots = () => {
    const size = Math.ceil(16_384 / count);
    const ranges = nodes.map(({ port }, at) => [at * size, Math.min((at + 1) * size, 16_384) - 1, port]);
    const replies = ranges.map(
      ([from, to, port]) => `*3\r\n:${from}\r\n:${to}\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`,
    );
    return `*${count}\r\n${replies.join('')}`;
  };
  const answerTo = (command = '', subcommand = '') => {
    if (command === 'info') return '$11\r\nloading:0\r\n\r\n';
    return command === 'cluster' && subcommand === 'slots' ? slots() : '+OK\r\n';
  };
  for (let at = 0; at < count; at++) {
    const node = { port: 0, increments: 0 };
    const server = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        for (const [, words = ''] of data.toString().matchAll(/\*\d+\r\n((?:\$\d+\r\n[^\r]*\r\n)+)/g)) {
          const [command, subcommand] = [...words.matchAll(/\r\n([^\r]*)\r\n/g)].map(([, word = '']) =>
            word.toLowerCase(),
          );
          if (command === 'incr' && ++node.increments <= breaking) return void socket.destroy();
          socket.write(command === 'incr' ? `:${node.increments}\r\n` : answerTo(command, subcommand));
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    node.port = (server.address() as net.AddressInfo).port;
    nodes.push(node);
    closers.push(() => server.close());
  }
  return nodes;
}

function connectTo(scheme: string, [first]: readonly Node[]) {
  const redis = connectRequestRedis(`${scheme}://127.0.0.1:${first?.port}`);
  redis.on('error', () => undefined);
  closers.push(() => redis.disconnect());
  return redis;
}

test.each([
  ['one Redis', 'redis'],
  ['a node of a cluster', 'redis+cluster'],
])('a command of a request whose connection to %s breaks fails, and is not sent again', async (_which, scheme) => {
  const nodes = await startNodes(1, { breaking: 1 });
  const redis = connectTo(scheme, nodes);
  await firstConnection(redis);
  await expect(redis.incr('counted')).rejects.toThrow();
  await until('it is connected again', 5_000, async () => (await redis.set('a', '1').catch(() => undefined)) === 'OK');
  expect(nodes).toMatchObject([{ increments: 1 }]);
});

test('commands of requests wait for the connections to the nodes of a cluster', async () => {
  const nodes = await startNodes(3, { breaking: 0 });
  const redis = connectTo('redis+cluster', nodes);
  await firstConnection(redis);
  await Promise.all(Array.from({ length: 60 }, (_, key) => redis.incr(`key ${key}`)));
  expect(nodes.map(({ increments }) => increments)).toEqual([0, 0, 0].map(() => expect.any(Number)));
  for (const { increments } of nodes) expect(increments).toBeGreaterThan(5);
});

test('a command of a request fails at once while no node of a cluster is known', async () => {
  const nodes = await startNodes(1, { breaking: 0 });
  const redis = connectTo('redis+cluster', nodes);
  await expect(redis.incr('early')).rejects.toThrow('not connected');
});
