import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startReaper } from '../../dev/process/reaper.ts';

/** An application of a test that has ended. */
export interface EndedApp {
  code: number | null;
  /** What it printed, both streams. */
  output: string;
}

const runTimeoutMs = 45_000;

/**
 * Runs a JavaScript file as a process with this environment alone, to its end. It is killed when it takes too long (its
 * code is null then), and when the test run itself is killed.
 */
export async function runApp(file: string, env: Readonly<Record<string, string>>): Promise<EndedApp> {
  const reaper = startReaper();
  const child = spawn(process.execPath, [file], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: runTimeoutMs,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  reaper.watch({ pid: child.pid ?? 0, exited });
  await closed;
  await reaper.close();
  return { code: (await exited).code, output };
}

const clientsFolder = fileURLToPath(new URL('../clients/', import.meta.url));

/** The file of an application in test/clients/apps. Throws when the packages that those use are not installed. */
export function clientApp(name: string): string {
  if (!existsSync(`${clientsFolder}node_modules/.package-lock.json`)) {
    throw new Error(
      'The packages of test/clients are not installed: `npm test` does it, or `node dev/install-clients.mjs`',
    );
  }
  return `${clientsFolder}apps/${name}`;
}
