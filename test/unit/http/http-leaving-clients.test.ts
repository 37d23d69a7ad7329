import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { rawEndpoint } from '../../../src/http/endpoint.ts';
import { TooLargeError } from '../../../src/lib/errors.ts';
import { serve } from '../../support/http-app.ts';
import { until } from '../../support/until.ts';

afterEach(() => {
  vi.useRealTimers();
});

const common = { method: 'POST', summary: '', tag: '', access: { open: true }, rateClass: 'none' } as const;
const responses = { 200: { description: '' } };

/** How a handler may leave the body of its request: read in part, or not at all. */
const handlers = {
  'whose handler broke off reading': async (req: AsyncIterable<Buffer>) => {
    for await (const chunk of req) throw new TooLargeError('body_too_large', `${chunk.length} bytes`);
  },
  'whose handler did not read': async () => {
    throw new TooLargeError('body_too_large', 'unread');
  },
};

test.each(Object.entries(handlers))(
  'a client that leaves within a refused body, %s: what is done five seconds later does no harm',
  async (_name, handle) => {
    const endpoint = rawEndpoint({ ...common, operationId: 'take', path: '/take', responses, handle });
    const app = await serve([endpoint], { authorize: async () => undefined });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const socket = connect(app.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n');
    socket.write(Buffer.alloc(1_000_000));
    await once(socket, 'data');
    socket.destroy();
    await once(socket, 'close');
    expect(() => vi.advanceTimersByTime(6_000)).not.toThrow();
    vi.useRealTimers();
    await until('the request is logged', 5_000, () => app.log.text().includes('body_too_large'));
    await app.close();
  },
);
