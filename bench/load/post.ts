import { Agent, request } from 'node:http';
import type { LoadTarget } from './protocol.ts';

export interface Answer {
  /** The HTTP status, or the error code where no answer came. */
  status: string;
  /** 0 where the answer names none. */
  retryAfterMs: number;
}

export type PostBody = (body: Buffer) => Promise<Answer>;

const answerTimeoutMs = 60_000;

/** Where bodies go and what they are. */
export interface PostedTo {
  path: string;
  headers: Readonly<Record<string, string>>;
}

export const toTraces: PostedTo = {
  path: '/api/v1/traces',
  headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
};

/** Posts over kept-alive connections, at most so many. Never rejects: an error is a status too. */
export function createPoster(
  { url, apiKey }: LoadTarget,
  connectionsMax: number,
  to: PostedTo = toTraces,
): { post: PostBody; close: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax, maxFreeSockets: connectionsMax });
  const { hostname, port } = new URL(url);
  const options = { agent, host: hostname.replace(/[[\]]/g, ''), port, path: to.path, method: 'POST' };
  const headers = { 'x-api-key': apiKey, ...to.headers };
  const post = (body: Buffer) =>
    new Promise<Answer>((resolve) => {
      const fail = (error: NodeJS.ErrnoException) => resolve({ status: error.code ?? error.message, retryAfterMs: 0 });
      const sent = request({ ...options, headers: { ...headers, 'content-length': body.length } }, (response) => {
        response.on('error', fail);
        response.on('end', () => {
          const retryAfterMs = Number(response.headers['retry-after'] ?? 0) * 1_000;
          resolve({ status: String(response.statusCode), retryAfterMs });
        });
        response.resume();
      });
      sent.setTimeout(answerTimeoutMs, () => sent.destroy(new Error('no answer in 60 s')));
      sent.on('error', fail);
      sent.end(body);
    });
  return { post, close: () => agent.destroy() };
}
