import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { staleInstallation } from '../../dev/install.mjs';
import { startReaper } from '../../dev/process/reaper.ts';

/** An application of a test that has ended. */
export interface EndedApp {
  code: number | null;
  /** Its output of both streams. */
  output: string;
}

const runTimeoutMs = 45_000;

/**
 * Runs a JavaScript file as a process with only this environment, to its end. The process is killed
 * if it takes too long (its code is then null), and if the test run is killed.
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

/** Returns the file of an application in test/clients/apps. Throws if its packages are not installed. */
export function clientApp(name: string): string {
  const reason = staleInstallation(clientsFolder);
  if (reason !== undefined) {
    const command = '(cd test/clients && npm ci --ignore-scripts)';
    throw new Error(`The packages of test/clients: ${reason}. Install them with \`${command}\`, as \`npm test\` does`);
  }
  return `${clientsFolder}apps/${name}`;
}
