import { type Answer, KeepAliveConnection } from './keep-alive.ts';
import type { LoadTarget } from './protocol.ts';

/** `status` is the error code if there was no response. */
export type PostBody = (body: Buffer) => Promise<Answer>;

/** The target of bodies and their media type. */
export interface PostedTo {
  path: string;
  headers: Readonly<Record<string, string>>;
}

export const toTraces: PostedTo = {
  path: '/api/v1/traces',
  headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
};

export const toLogs: PostedTo = { path: '/api/v1/logs', headers: { 'content-type': 'application/json' } };

/**
 * Posts over a limited number of connections with keep-alive. Never rejects, because an error is
 * returned as a status.
 */
export function createPoster(
  { url, apiKey }: LoadTarget,
  connectionsMax: number,
  to: PostedTo = toTraces,
): { post: PostBody; close: () => void } {
  const idle: KeepAliveConnection[] = [];
  const waiting: (() => void)[] = [];
  let busy = 0;
  const headers = { host: new URL(url).host, 'x-api-key': apiKey, ...to.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const start = `POST ${to.path} HTTP/1.1\r\n${lines.join('')}content-length: `;

  const post = async (body: Buffer): Promise<Answer> => {
    if (busy >= connectionsMax) await new Promise<void>((resolve) => waiting.push(resolve));
    else busy += 1;
    try {
      const connection = takeUsable(idle) ?? (await KeepAliveConnection.open(url));
      const answer = await connection.send(`${start}${body.length}\r\n\r\n`, body);
      if (connection.usable) idle.push(connection);
      else connection.close();
      return answer;
    } catch (error) {
      return { status: statusOf(error), retryAfterMs: 0 };
    } finally {
      const next = waiting.shift();
      if (next === undefined) busy -= 1;
      else next();
    }
  };
  const close = () => {
    for (const connection of idle) connection.close();
  };
  return { post, close };
}

/**
 * Returns the last used connection, so that only as many as needed are in use. Skips connections
 * that the server closed.
 */
function takeUsable(idle: KeepAliveConnection[]): KeepAliveConnection | undefined {
  let connection = idle.pop();
  while (connection !== undefined && !connection.usable) connection = idle.pop();
  return connection;
}

function statusOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
