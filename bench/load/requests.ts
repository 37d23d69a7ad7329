import { epochMs } from './epoch.ts';
import { KeepAliveConnection } from './keep-alive.ts';

export interface RequestLoad {
  path: string;
  headers: Readonly<Record<string, string>>;
  connections: number;
  seconds: number;
}

export interface RequestResult {
  /** How often each status. */
  statuses: Record<string, number>;
  latenciesMs: Float64Array;
  tookMs: number;
}

/** Each connection sends the same GET again as soon as it is answered, until the time is up. */
export async function runRequests(url: string, load: RequestLoad): Promise<RequestResult> {
  const { host } = new URL(url);
  const headers = Object.entries({ host, ...load.headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = Buffer.from(`GET ${load.path} HTTP/1.1\r\n${headers.join('')}\r\n`);
  const connections = await Promise.all(Array.from({ length: load.connections }, () => KeepAliveConnection.open(url)));
  const statuses: Record<string, number> = {};
  const latenciesMs: number[] = [];
  const startedAtMs = epochMs();
  const untilMs = startedAtMs + load.seconds * 1_000;
  const run = async (connection: KeepAliveConnection) => {
    for (let sentAtMs = epochMs(); sentAtMs < untilMs; ) {
      const status = await connection.send(request);
      const answeredAtMs = epochMs();
      statuses[status] = (statuses[status] ?? 0) + 1;
      latenciesMs.push(answeredAtMs - sentAtMs);
      sentAtMs = answeredAtMs;
    }
    connection.close();
  };
  await Promise.all(connections.map(run));
  return { statuses, latenciesMs: Float64Array.from(latenciesMs), tookMs: epochMs() - startedAtMs };
}
