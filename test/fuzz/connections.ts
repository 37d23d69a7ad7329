import { connect } from 'node:net';
import type { FuzzRequest } from './requests/request.ts';

export type Manner =
  | 'leaves within its headers'
  | 'leaves within its body'
  | 'leaves before the answer'
  | 'resets'
  | 'half-closes'
  | 'sends more than it said'
  | 'pipelines';
export const manners: readonly Manner[] = [
  'leaves within its headers',
  'leaves within its body',
  'leaves before the answer',
  'resets',
  'half-closes',
  'sends more than it said',
  'pipelines',
];

const patienceMs = 3_000;

/** What a client sends that behaves like this, and whether it stays for an answer. */
const scripts: Readonly<
  Record<Manner, (head: string, body: Buffer) => { bytes: Buffer; ending: 'destroy' | 'reset' | 'end' | 'stay' }>
> = {
  'leaves within its headers': (head) => ({ bytes: Buffer.from(head.slice(0, head.length >> 1)), ending: 'destroy' }),
  'leaves within its body': (head, body) => ({
    bytes: Buffer.concat([Buffer.from(head), body.subarray(0, body.length >> 1)]),
    ending: 'destroy',
  }),
  'leaves before the answer': (head, body) => ({ bytes: Buffer.concat([Buffer.from(head), body]), ending: 'destroy' }),
  resets: (head, body) => ({
    bytes: Buffer.concat([Buffer.from(head), body.subarray(0, body.length >> 1)]),
    ending: 'reset',
  }),
  'half-closes': (head, body) => ({ bytes: Buffer.concat([Buffer.from(head), body]), ending: 'end' }),
  'sends more than it said': (head, body) => ({
    bytes: Buffer.concat([Buffer.from(head), body, Buffer.from('surplus\r\n\r\n')]),
    ending: 'stay',
  }),
  pipelines: (head, body) => ({
    bytes: Buffer.concat(Array(8).fill(Buffer.concat([Buffer.from(head), body]))),
    ending: 'stay',
  }),
};

/**
 * Sends a request over a connection of its own in the given manner; the statuses of what was
 * answered while it stayed.
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
