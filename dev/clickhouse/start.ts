import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { PASSWORD_VARIABLE } from './protocol.ts';

export interface ClickHouseOptions {
  dataDir: string;
  /** 0, the default, selects a free port. */
  port?: number;
  /** Receives the standard error of the process. By default it goes to the standard error of this process. */
  logFile?: string;
  /** Password that every query must have. Without it, every client on this machine may send queries. */
  password?: string;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ClickHouseProcess {
  url: string;
  port: number;
  pid: number;
  exited: Promise<Exit>;
  /** Stops the process in an orderly way and waits for it. Kills it after 10 s. */
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
const STOP_WITHIN_MS = 10_000;
/** One thread per session (see main.ts), one for the keeper, the others for files and compression. */
const ENGINE_THREADS = '14';

/** Starts the embedded ClickHouse. @throws Error of one line if the port or the data directory is in use */
export async function startClickHouse({
  dataDir,
  port = 0,
  logFile,
  password,
}: ClickHouseOptions): Promise<ClickHouseProcess> {
  mkdirSync(dataDir, { recursive: true });
  const log = logFile === undefined ? 'inherit' : openSync(logFile, 'a');
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const child = spawn(
    process.execPath,
    ['--import', tsx, main, '--data-dir', dataDir, '--host', HOST, '--port', String(port)],
    {
      stdio: ['ignore', 'pipe', log, 'ipc'],
      env: { ...process.env, UV_THREADPOOL_SIZE: ENGINE_THREADS, [PASSWORD_VARIABLE]: password },
    },
  );
  if (typeof log === 'number') closeSync(log);
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const bound = await Promise.race([readyPort(child), failure(child, exited)]);
  const credentials = password === undefined ? '' : `promptlane:${password}@`;
  return {
    url: `http://${credentials}${HOST}:${bound}`,
    port: bound,
    pid: child.pid ?? 0,
    exited,
    stop: () => stop(child, exited),
  };
}

async function readyPort(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('ClickHouse was started without standard output');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const ready: { port: number } = JSON.parse(String(line));
  return ready.port;
}

async function failure(child: ChildProcess, exited: Promise<Exit>): Promise<never> {
  const said = new Promise<string>((resolve) => {
    child.on('message', (message) => {
      if (typeof message === 'object' && 'error' in message) resolve(String(message.error));
    });
  });
  const ended = exited.then(({ code, signal }) => `it ended with ${signal ?? `code ${code}`} before it was ready`);
  throw new Error(`ClickHouse did not start: ${await Promise.race([said, ended])}`);
}

async function stop(child: ChildProcess, exited: Promise<Exit>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  await exited;
  clearTimeout(timer);
}
