import { connect } from 'node:net';
import type { FuzzRequest } from './requests/request.ts';

export type Manner =
  | 'disconnects within its headers'
  | 'disconnects within its body'
  | 'disconnects before the response'
  | 'resets'
  | 'half-closes'
  | 'sends more than Content-Length'
  | 'pipelines';
export const manners: readonly Manner[] = [
  'disconnects within its headers',
  'disconnects within its body',
  'disconnects before the response',
  'resets',
  'half-closes',
  'sends more than Content-Length',
  'pipelines',
];

const patienceMs = 3_000;

/** The bytes that a client of each manner sends, and what it does after them. */
const scripts: Readonly<
  Record<Manner, (head: string, body: Buffer) => { bytes: Buffer; ending: 'destroy' | 'reset' | 'end' | 'stay' }>
> = {
  'disconnects within its headers': (head) => ({
    bytes: Buffer.from(head.slice(0, head.length >> 1)),
    ending: 'destroy',
  }),
  'disconnects within its body': (head, body) => ({
    bytes: Buffer.concat([Buffer.from(head), body.subarray(0, body.length >> 1)]),
    ending: 'destroy',
  }),
  'disconnects before the response': (head, body) => ({
    bytes: Buffer.concat([Buffer.from(head), body]),
    ending: 'destroy',
  }),
  resets: (head, body) => ({
    bytes: Buffer.concat([Buffer.from(head), body.subarray(0, body.length >> 1)]),
    ending: 'reset',
  }),
  'half-closes': (head, body) => ({ bytes: Buffer.concat([Buffer.from(head), body]), ending: 'end' }),
  'sends more than Content-Length': (head, body) => ({
    bytes: Buffer.concat([Buffer.from(head), body, Buffer.from('surplus\r\n\r\n')]),
    ending: 'stay',
  }),
  pipelines: (head, body) => ({
    bytes: Buffer.concat(Array(8).fill(Buffer.concat([Buffer.from(head), body]))),
    ending: 'stay',
  }),
};

/**
 * Sends a request over its own connection in the given manner. Resolves to the statuses of the
 * responses that the client received.
 */
export function misbehave(
  apiUrl: string,
  { method, target, headers, body = Buffer.alloc(0) }: FuzzRequest,
  manner: Manner,
): Promise<number[]> {
  const { hostname, port } = new URL(apiUrl);
  const lines = Object.entries({ Host: `${hostname}:${port}`, ...headers, 'Content-Length': String(body.length) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const { bytes, ending } = scripts[manner](`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, body);
  return new Promise((resolve) => {
    let answered = '';
    const socket = connect(Number(port), hostname);
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on('data', (chunk) => {
      if (answered.length < 1_000_000) answered += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.once('close', () =>
      resolve([...answered.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))),
    );
    socket.write(bytes, () => {
      if (ending === 'destroy') socket.destroy();
      if (ending === 'reset') socket.resetAndDestroy();
      if (ending === 'end') socket.end();
    });
  });
}
