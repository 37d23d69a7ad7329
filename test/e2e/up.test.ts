import { execSync } from 'node:child_process';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../dev/ports.ts';
import { identify } from '../../dev/process/identity.ts';
import { connectPostgres } from '../../src/stores/postgres/client.ts';
import type { RunningConnection } from '../support/connection.ts';
import { newDataDir, readConnection, runUp, type UpRun } from '../support/run-up.ts';
import { until } from '../support/until.ts';

const READY_MS = 30_000;
const RESTART_MS = 10_000;

const dataDir = newDataDir();
let port: number;
let run: UpRun;
let first: RunningConnection;
let firstPassword: string;

async function started(): Promise<RunningConnection> {
  return until('connection.json exists', READY_MS, () => {
    if (run.process.exitCode !== null) throw new Error(`up ended by itself:\n${run.output()}`);
    return readConnection(dataDir);
  });
}

function current(): RunningConnection {
  const connection = readConnection(dataDir);
  if (!connection) throw new Error(`no connection.json in ${dataDir}`);
  return connection;
}

function databasePassword(): string {
  return JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8')).database_password;
}

async function isHealthy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/api/health`).catch(() => undefined);
  return response?.ok === true;
}

async function expectAllGone(connection: RunningConnection, withinMs: number): Promise<void> {
  const names = Object.keys(connection.pids) as (keyof RunningConnection['pids'])[];
  for (const name of names) {
    await until(`${name} is gone`, withinMs, () => identify(connection.pids[name]) === undefined);
  }
}

beforeAll(async () => {
  port = await freePort();
  run = runUp(dataDir, port);
  first = await started();
  firstPassword = databasePassword();
}, READY_MS + 5_000);

afterAll(async () => {
  run.process.kill('SIGTERM');
  await run.exitCode;
  rmSync(dataDir, { recursive: true, force: true });
}, 60_000);

describe('up', () => {
  it('on an empty data directory, is healthy within 30 s and says so only to its owner', async () => {
    expect(await isHealthy(first.url)).toBe(true);
    expect(statSync(join(dataDir, 'connection.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'secrets.json')).mode & 0o777).toBe(0o600);
    await until('the banner', 30_000, () => run.output().includes(first.api_key));
  });

  it('on a data directory that is in use, ends with one line that names the holder', async () => {
    const second = runUp(dataDir, await freePort());
    expect(await second.exitCode).toBe(1);
    const holder: { pid: number } = JSON.parse(readFileSync(join(dataDir, 'up.lock'), 'utf8'));
    expect(identify(holder.pid)).toBeDefined();
    expect(second.output().trim().split('\n')).toEqual([expect.stringContaining(`pid ${holder.pid} `)]);
  });

  it('on a port that is taken, ends with one line that names the port', async () => {
    const otherDir = newDataDir();
    const second = runUp(otherDir, port);
    expect(await second.exitCode).toBe(1);
    expect(second.output().trim().split('\n')).toEqual([expect.stringContaining(`port ${port} `)]);
    rmSync(otherDir, { recursive: true });
  });

  it.each(['worker', 'redis', 'postgres', 'clickhouse', 'api'] as const)(
    'when the %s is killed, starts it again and names the new pid',
    async (name) => {
      const before = current();
      process.kill(before.pids[name], 'SIGKILL');
      const pid = await until(`${name} has a new pid`, RESTART_MS, () => {
        const now = current().pids[name];
        return now !== before.pids[name] && now;
      });
      expect(identify(pid)).toBeDefined();
      expect(current()).toEqual({ ...before, pids: { ...before.pids, [name]: pid } });
      await until('the API is healthy', RESTART_MS, () => isHealthy(first.url));
    },
  );

  it('when it is killed itself, leaves nothing running and starts again with the same keys', async () => {
    const before = current();
    run.process.kill('SIGKILL');
    await run.exitCode;
    await expectAllGone(before, 10_000);
    run = runUp(dataDir, port);
    // The file of the killed instance is still there until the new one takes over.
    const after = await until('a new connection.json', READY_MS, () => {
      const connection = readConnection(dataDir);
      return connection?.pids.api !== before.pids.api && connection;
    });
    expect({ ...after, pids: undefined }).toEqual({ ...before, pids: undefined });
  });

  it('on SIGTERM, and more of them, stops everything and exits 0', async () => {
    const before = current();
    run.process.kill('SIGTERM');
    run.process.kill('SIGTERM');
    run.process.kill('SIGINT');
    expect(await run.exitCode).toBe(0);
    await expectAllGone(before, 0);
    expect(readConnection(dataDir)).toBeUndefined();
  });

  it('on data it has stopped before, starts again with the same keys', async () => {
    run = runUp(dataDir, port);
    const again = await started();
    expect(again).toEqual({ ...first, pids: again.pids });
  });

  it('has let Postgres log no password of its user, at the first start or a later one', () => {
    const log = readFileSync(join(dataDir, 'logs', 'postgres.log'), 'utf8');
    expect(log).toContain('database system is ready');
    expect([firstPassword, databasePassword()].filter((password) => log.includes(password))).toEqual([]);
    expect(log).not.toContain('role "promptlane_service" already exists');
  });

  it('on data of a former layout, ends with one line that says how to start over, and then keeps the keys', async () => {
    const { database_url, api_key } = current();
    const postgres = connectPostgres(database_url, 1);
    await postgres('knex_migrations').whereLike('name', '0001%').update({ name: '0001_tenancy' });
    await postgres.destroy();
    run.process.kill('SIGTERM');
    await run.exitCode;
    run = runUp(dataDir, port);
    expect(await run.exitCode).toBe(1);
    const [refusal = '', ...more] = run
      .output()
      .split('\n')
      .filter((line) => !line.startsWith('✓') && line !== '');
    expect(more).toEqual([]);
    expect(refusal).toMatch(/^✗ Postgres has the tables of an unreleased version, .* it ran 0001_tenancy, .* run: /);
    execSync(refusal.replace(/.* run: /, ''));
    run = runUp(dataDir, port);
    expect((await started()).api_key).toBe(api_key);
  });
});
