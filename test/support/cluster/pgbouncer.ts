import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../dev/ports.ts';
import { spawnChild } from '../../../dev/process/child.ts';
import { lastLines } from '../../../dev/process/log-file.ts';
import { startReaper } from '../../../dev/process/reaper.ts';
import { until } from '../until.ts';

export interface PgBouncer {
  /** As the URL of the server, at PgBouncer. */
  url: string;
  stop(): Promise<void>;
}

const readyMsMax = 10_000;
const stopMsMax = 5_000;
/** Fewer than API, worker and tests would open. */
const connectionsMax = 8;
/** PgBouncer refuses to run as root. */
const nobody = { uid: 65_534, gid: 65_534 };

/** Starts PgBouncer in transaction mode for the user of the URL. Returns undefined if it is not installed. */
export async function startPgBouncer(serverUrl: string): Promise<PgBouncer | undefined> {
  if (spawnSync('pgbouncer', ['--version']).status !== 0) return undefined;
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-pgbouncer-'));
  chmodSync(directory, 0o777);
  const reaper = startReaper(directory);
  const port = await freePort();
  const server = new URL(serverUrl);
  const [configFile, usersFile] = [join(directory, 'pgbouncer.ini'), join(directory, 'users.txt')];
  writeFileSync(usersFile, `"${server.username}" "${server.password}"\n`, { mode: 0o644 });
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: usersFile,
    pool_mode: 'transaction',
    default_pool_size: connectionsMax,
    max_client_conn: 1_000,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const config = `[databases]\n* = host=${server.hostname} port=${server.port}\n[pgbouncer]\n${lines.join('\n')}\n`;
  writeFileSync(configFile, config, { mode: 0o644 });
  const logFile = join(directory, 'pgbouncer.log');
  const child = await spawnChild({
    command: 'pgbouncer',
    args: [configFile],
    logFile,
    env: { PATH: process.env.PATH },
    owner: process.getuid?.() === 0 ? nobody : undefined,
  });
  reaper.watch(child);
  await until('PgBouncer listens', readyMsMax, () => listens(port)).catch((error: Error) => {
    throw new Error(`${error.message}:\n${lastLines(logFile, 5)}`);
  });
  server.port = String(port);
  return {
    url: server.href,
    async stop() {
      await child.stop('SIGINT', stopMsMax);
      await reaper.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
