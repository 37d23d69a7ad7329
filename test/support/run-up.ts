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
  /** Returns the output of both streams so far. */
  output(): string;
  readonly exitCode: Promise<number | null>;
}

/** Runs `up` with this data directory and port. It starts its own engines unless `given` names others. */
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
  // If the test run is interrupted, the reaper ends this `up`.
  const reaper = startReaper();
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  reaper.watch({ pid: child.pid ?? 0, exited });
  void exited.then(() => reaper.close());
  return { process: child, output: () => output, exitCode };
}

/** Creates a data directory that the user of Postgres can enter if this process runs as root. */
export function newDataDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-up-'));
  chmodSync(directory, 0o711);
  return directory;
}

/** Returns the content of connection.json, or undefined if the file does not exist. */
export function readConnection(dataDir: string): RunningConnection | undefined {
  const path = join(dataDir, 'connection.json');
  return existsSync(path) ? connectionSchema.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
}
