import { writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { enginePassword } from './engine-password.ts';
import { freePort } from './ports.ts';
import { type Child, describeExit, type EngineOptions, type EngineProcess, spawnChild } from './process/child.ts';
import { lastLines } from './process/log-file.ts';
import { ensureRedisBinary } from './redis/binary.ts';

export interface RedisOptions extends EngineOptions {
  /** In the format of Redis, for example "2gb". */
  maxMemory?: string | undefined;
  /** More settings by their names in redis.conf. */
  settings?: Readonly<Record<string, string>> | undefined;
}

interface Address {
  port: number;
  password: string;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
const PROBE_TIMEOUT_MS = 1_000;

/**
 * Starts a real Redis (or Valkey) on 127.0.0.1 with an append-only file, so that a killed process loses nothing.
 * Throws with the last log lines if it does not become ready.
 */
export async function startRedis(options: RedisOptions): Promise<EngineProcess> {
  const dataDir = resolve(options.dataDir);
  const binary = await ensureRedisBinary();
  const port = options.port ?? (await freePort());
  const logFile = options.logFile ?? join(dataDir, 'redis.log');
  const password = enginePassword(dataDir);
  // The password is in a file, because every user of the machine can read arguments.
  const configFile = join(dataDir, 'redis.conf');
  writeFileSync(configFile, `requirepass ${password}\n`, { mode: 0o600 });
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: dataDir,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    maxmemory: options.maxMemory ?? '2gb',
    'maxmemory-policy': 'noeviction',
    ...options.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = await spawnChild({
    command: binary.path,
    args: [configFile, ...args],
    cwd: dataDir,
    logFile,
    env: { PATH: process.env.PATH },
  });
  options.onSpawn?.(child);
  await untilReady(child, { port, password }, logFile);
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    port,
    pid: child.pid,
    exited: child.exited,
    version: binary.version,
    stop: () => child.stop('SIGTERM', STOP_TIMEOUT_MS),
  };
}

async function untilReady(child: Child, address: Address, logFile: string): Promise<void> {
  let why: string | undefined;
  void child.exited.then((exit) => {
    why = describeExit(exit);
  });
  const deadlineMs = Date.now() + READY_TIMEOUT_MS;
  while (why === undefined) {
    if (await isReady(address, child.pid)) return;
    if (Date.now() > deadlineMs) why = `not ready after ${READY_TIMEOUT_MS} ms`;
    await delay(20);
  }
  await child.stop('SIGKILL', 0);
  throw new Error(`Redis did not start (${why}), see ${logFile}:\n${lastLines(logFile, 5)}`);
}

/**
 * Returns false while no process listens, while Redis reads its append-only file ("-LOADING"), and
 * for another Redis.
 */
function isReady({ port, password }: Address, pid: number): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = createConnection(port, '127.0.0.1', () =>
      socket.write(`AUTH ${password}\r\nPING\r\nINFO server\r\nQUIT\r\n`),
    );
    socket.setTimeout(PROBE_TIMEOUT_MS, () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      answer += data.toString();
    });
    socket.once('close', () => resolve(answer.startsWith('+OK\r\n+PONG') && answer.includes(`process_id:${pid}\r\n`)));
  });
}
