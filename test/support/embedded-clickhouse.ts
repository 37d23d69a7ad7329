import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { type ClickHouseProcess, startClickHouse } from '../../dev/clickhouse/start.ts';

export interface EmbeddedClickHouse {
  dataDir: string;
  server: ClickHouseProcess;
  client: ClickHouseClient;
  stop(): Promise<void>;
}

/** Starts an embedded ClickHouse for one test file, in a directory that is removed with it. */
export async function startEmbeddedClickHouse(): Promise<EmbeddedClickHouse> {
  const dataDir = await mkdtemp(join(tmpdir(), 'promptlane-clickhouse-'));
  const server = await startClickHouse({ dataDir });
  const client = quietClient(server.url);
  return {
    dataDir,
    server,
    client,
    async stop() {
      await client.close();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Creates a client that does not log errors. The test checks them. */
export function quietClient(url: string, compression = false): ClickHouseClient {
  return createClient({
    url,
    compression: { request: compression, response: compression },
    log: { level: ClickHouseLogLevel.OFF },
  });
}

/** Returns the rows of a query. */
export async function allRows<T>(client: ClickHouseClient, query: string): Promise<T[]> {
  const result = await client.query({ query, format: 'JSONEachRow' });
  return result.json<T>();
}

/** Returns the first value of the only row of a query, as text. */
export async function onlyValue(client: ClickHouseClient, query: string): Promise<string> {
  const result = await client.query({ query, format: 'TabSeparated' });
  return (await result.text()).trimEnd();
}
