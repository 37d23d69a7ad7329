import { setTimeout as delay } from 'node:timers/promises';
import { type Child, describeExit, type RunningProcess, spawnChild } from '../process/child.ts';
import { lastLines } from '../process/log-file.ts';
import type { Stoppable } from '../process/supervised.ts';
import { CannotStart } from './errors.ts';

/** A TypeScript entry of the product. Node runs it directly, so the pid is that of the process itself. */
export interface App {
  name: string;
  root: string;
  entry: string;
  env: NodeJS.ProcessEnv;
  logFile: string;
}

/** Longer than the processes take to drain. */
const STOP_TIMEOUT_MS = 25_000;
const HEALTH_TIMEOUT_MS = 60_000;
const HEALTH_PROBE_TIMEOUT_MS = 2_000;
const HEALTH_INTERVAL_MS = 50;
const LOG_LINES = 15;

export async function launchApp(app: App, onSpawn: (child: RunningProcess) => void): Promise<Stoppable> {
  const child = await spawnApp(app);
  onSpawn(child);
  return { pid: child.pid, exited: child.exited, stop: () => child.stop('SIGTERM', STOP_TIMEOUT_MS) };
}

/** Runs a script to its end. Throws CannotStart with its last log lines if it fails. */
export async function runScript(app: App, stopRequested: AbortSignal): Promise<void> {
  const child = await spawnApp(app);
  const stop = () => void child.stop('SIGTERM', STOP_TIMEOUT_MS);
  stopRequested.addEventListener('abort', stop);
  const exit = await child.exited;
  stopRequested.removeEventListener('abort', stop);
  if (exit.code !== 0) throw failure(app, describeExit(exit));
}

/** Waits for {"status":"ok"} at /api/health. Throws CannotStart if the process ends or takes more than a minute. */
export async function untilHealthy(app: App, running: RunningProcess, url: string, stop: AbortSignal): Promise<void> {
  let ended: string | undefined;
  void running.exited.then((exit) => {
    ended = describeExit(exit);
  });
  const deadlineMs = Date.now() + HEALTH_TIMEOUT_MS;
  while (!(await isHealthy(url))) {
    stop.throwIfAborted();
    if (ended !== undefined) throw failure(app, ended);
    if (Date.now() > deadlineMs) throw failure(app, `not healthy after ${HEALTH_TIMEOUT_MS} ms`);
    await delay(HEALTH_INTERVAL_MS);
  }
}

function spawnApp({ root, entry, env, logFile }: App): Promise<Child> {
  return spawnChild({ command: process.execPath, args: ['--import', 'tsx', entry], cwd: root, env, logFile });
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(HEALTH_PROBE_TIMEOUT_MS) });
    const body: unknown = await response.json();
    return response.ok && typeof body === 'object' && body !== null && 'status' in body && body.status === 'ok';
  } catch {
    return false;
  }
}

function failure(app: App, why: string): CannotStart {
  return new CannotStart(`${app.name} failed (${why}), see ${app.logFile}:\n${lastLines(app.logFile, LOG_LINES)}`);
}
