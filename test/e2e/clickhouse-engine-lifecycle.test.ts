import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ClickHouseProcess, startClickHouse } from '../../dev/clickhouse/start.ts';
import { onlyValue, quietClient } from '../support/embedded-clickhouse.ts';

let dataDir: string;
const servers: ClickHouseProcess[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'promptlane-clickhouse-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(port = 0, directory = dataDir): Promise<ClickHouseProcess> {
  const server = await startClickHouse({ dataDir: directory, port, logFile: join(dataDir, 'clickhouse.log') });
  servers.push(server);
  return server;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function insertNumbers(url: string, table: string, rows: number): Promise<void> {
  const client = quietClient(url);
  await client.command({ query: `CREATE TABLE IF NOT EXISTS ${table} (id UInt32) ENGINE = MergeTree ORDER BY id` });
  await client.insert({ table, values: Array.from({ length: rows }, (_, id) => ({ id })), format: 'JSONEachRow' });
  await client.close();
}

async function countOf(url: string, table: string): Promise<string> {
  const client = quietClient(url);
  const count = await onlyValue(client, `SELECT count() FROM ${table}`);
  await client.close();
  return count;
}

test('a start takes less than 2 s and yields the real process id', async () => {
  const startedAt = performance.now();
  const server = await start();
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  process.kill(server.pid, 'SIGKILL');
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('rows acknowledged before kill -9 are there after a start on the same directory, which works at once', async () => {
  for (let round = 1; round <= 3; round += 1) {
    const server = await start();
    await insertNumbers(server.url, 't', 1_000);
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
  }
  expect(await countOf((await start()).url, 't')).toBe('3000');
});

test('rows a crash left waiting in a file are removed by the next start', async () => {
  await (await start()).stop();
  await writeFile(join(dataDir, 'spool', 'left-over'), 'rows');
  await start();
  expect(await readdir(join(dataDir, 'spool'))).toEqual([]);
});

test('a second process on the same directory is refused with a line that names the directory and its holder', async () => {
  const first = await start();
  const refusal = await start().catch((error: Error) => error.message);
  expect(refusal).toBe(
    `ClickHouse did not start: cannot open the ClickHouse data directory ${join(dataDir, 'engine')}: process ${first.pid} holds it`,
  );
  expect((await fetch(`${first.url}/ping`)).status).toBe(200);
});

test('a taken port is refused with a line that names it', async () => {
  const first = await start();
  const other = await mkdtemp(join(tmpdir(), 'promptlane-clickhouse-'));
  const refusal = await start(first.port, other).catch((error: Error) => error.message);
  await rm(other, { recursive: true });
  expect(refusal).toMatch(
    new RegExp(`^ClickHouse did not start: cannot listen on 127.0.0.1:${first.port}: .*EADDRINUSE`),
  );
});

test('SIGTERM lets a running INSERT finish, stops an endless select and exits with 0', async () => {
  const server = await start();
  await insertNumbers(server.url, 't', 1);
  const client = quietClient(server.url);
  const running = async (queries: number) => {
    const counted = "SELECT count() FROM system.processes WHERE query LIKE '%system.numbers%' OR query LIKE 'INSERT%'";
    // The statement that counts counts itself.
    await vi.waitFor(async () => expect(await onlyValue(client, counted)).toBe(String(queries + 1)), 10_000);
  };
  const endless = onlyValue(client, 'SELECT count() FROM system.numbers').catch(() => 'stopped');
  await running(1);
  const insert = client.command({ query: 'INSERT INTO t SELECT number + sleepEachRow(0.15) FROM numbers(10)' });
  await running(2);
  process.kill(server.pid, 'SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  await insert;
  expect(await endless).toBe('stopped');
  await client.close();
  expect(await countOf((await start()).url, 't')).toBe('11');
});

test('SIGINT, which a terminal sends to every process of its group, is left to the parent', async () => {
  const server = await start();
  process.kill(server.pid, 'SIGINT');
  await insertNumbers(server.url, 't', 1);
  expect(isAlive(server.pid)).toBe(true);
});

test('the process ends when its parent is killed, so that the directory is free again', async () => {
  const script = `
    import { startClickHouse } from ${JSON.stringify(new URL('../../dev/clickhouse/start.ts', import.meta.url).href)};
    console.log((await startClickHouse({ dataDir: ${JSON.stringify(dataDir)} })).pid);
  `;
  const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: parent.stdout }), 'line');
  parent.kill('SIGKILL');
  await vi.waitFor(() => expect(isAlive(Number(line))).toBe(false), { timeout: 5_000 });
  await start();
});
