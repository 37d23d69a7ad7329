import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProcessExit } from '../../dev/process/child.ts';
import { startReaper } from '../../dev/process/reaper.ts';
import { connectionSchema, type RunningConnection } from './connection.ts';

const SCRIPT = fileURLToPath(new URL('../../dev/up.mjs', import.meta.url));

export interface UpRun {
  readonly process: ChildProcess;
  /** Everything printed so far, both streams. */
  output(): string;
  readonly exitCode: Promise<number | null>;
}

/** Runs `up` on this data directory and port, with engines of its own unless `given` names others. */
export function runUp(dataDir: string, port: number, given: Readonly<Record<string, string>> = {}): UpRun {
  const { DATABASE_URL, DATABASE_MIGRATE_URL, REDIS_URL, CLICKHOUSE_URL, ...env } = process.env;
  const child = spawn(process.execPath, [SCRIPT], {
    env: { ...env, DATA_DIR: dataDir, PORT: String(port), ...given },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  }
  const exitCode = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code));
  });
  // A test run that is interrupted ends this `up` as well.
  const reaper = startReaper();
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  reaper.watch({ pid: child.pid ?? 0, exited });
  void exited.then(() => reaper.close());
  return { process: child, output: () => output, exitCode };
}

/** A new data directory that Postgres's user can pass through when we are root. */
export function newDataDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-up-'));
  chmodSync(directory, 0o711);
  return directory;
}

/** What connection.json says, undefined while there is none. */
export function readConnection(dataDir: string): RunningConnection | undefined {
  const path = join(dataDir, 'connection.json');
  return existsSync(path) ? connectionSchema.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
}
