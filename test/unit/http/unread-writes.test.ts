import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { endpoint } from '../../../src/http/endpoint.ts';
import { serve } from '../../support/http-app.ts';

test('a write whose body comes while large answers to others are unread is refused, and has no effect', async () => {
  let effects = 0;
  const write = endpoint({
    ...{ method: 'POST', operationId: 'write', path: '/large', summary: '', tag: '', rateClass: 'write' },
    access: { authenticated: true },
    body: z.strictObject({}),
    responses: { 200: { description: '', schema: z.strictObject({ text: z.string() }) } },
    handle: async () => {
      effects++;
      return { status: 200, body: { text: 'x'.repeat(33 * 1024 * 1024) } };
    },
  });
  const app = await serve([write], { authorize: async () => undefined });
  const ask =
    'POST /large HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n';
  /** Opens a connection whose request waits for its body. */
  const begin = async () => {
    const socket = connect(app.port, '127.0.0.1');
    socket.on('error', () => undefined); // It may be cut off.
    socket.write(ask);
    await once(socket, 'readable');
    expect(String(socket.read())).toMatch(/^HTTP\/1\.1 100 /);
    return socket;
  };
  const [unread, late] = [await begin(), await begin()];
  try {
    unread.write('{}');
    await once(unread, 'readable');
    late.write('{}');
    await once(late, 'readable');
    expect(String(late.read())).toMatch(/^HTTP\/1\.1 429 .*workspace_busy/s);
    expect(effects).toBe(1);
  } finally {
    for (const socket of [unread, late]) socket.destroy();
    await app.close();
  }
});
