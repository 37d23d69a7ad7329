import { epochMs } from './epoch.ts';
import { KeepAliveConnection } from './keep-alive.ts';

export interface RequestLoad {
  path: string;
  headers: Readonly<Record<string, string>>;
  connections: number;
  seconds: number;
}

export interface RequestResult {
  /** Number of responses by status. */
  statuses: Record<string, number>;
  latenciesMs: Float64Array;
  tookMs: number;
}

/** Reads `paths` one after the other, in their order. */
export interface ReadLoad {
  paths: readonly string[];
  headers: Readonly<Record<string, string>>;
}

/** Returns the milliseconds of each read. Throws if a response is not 200. */
export async function runReads(url: string, { paths, headers }: ReadLoad): Promise<Float64Array> {
  const connection = await KeepAliveConnection.open(url);
  const latenciesMs: number[] = [];
  for (const path of paths) {
    const request = toGet(url, path, headers);
    const sentAtMs = epochMs();
    const { status } = await connection.send(request);
    latenciesMs.push(epochMs() - sentAtMs);
    if (status !== '200') throw new Error(`${path} responded with ${status}`);
  }
  connection.close();
  return Float64Array.from(latenciesMs);
}

/** Each connection sends the same GET again after each response, until the time ends. */
export async function runRequests(url: string, load: RequestLoad): Promise<RequestResult> {
  const request = toGet(url, load.path, load.headers);
  const connections = await Promise.all(Array.from({ length: load.connections }, () => KeepAliveConnection.open(url)));
  const statuses: Record<string, number> = {};
  const latenciesMs: number[] = [];
  const startedAtMs = epochMs();
  const untilMs = startedAtMs + load.seconds * 1_000;
  const run = async (connection: KeepAliveConnection) => {
    for (let sentAtMs = epochMs(); sentAtMs < untilMs; ) {
      const { status } = await connection.send(request);
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

function toGet(url: string, path: string, headers: Readonly<Record<string, string>>): Buffer {
  const { host } = new URL(url);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
}
