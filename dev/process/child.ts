import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process that runs: `pid` is the real one's, never a wrapper's. */
export interface RunningProcess {
  readonly pid: number;
  readonly exited: Promise<ProcessExit>;
}

export interface Child extends RunningProcess {
  /** Sends `signal`, then SIGKILL after `timeoutMs`; resolves when the process is gone. */
  stop(signal: NodeJS.Signals, timeoutMs: number): Promise<void>;
}

/** An engine that answers on `url`. */
export interface EngineProcess extends RunningProcess {
  readonly url: string;
  readonly port: number;
  /** Such as "18.4". */
  readonly version?: string;
  stop(): Promise<void>;
}

/** What every engine is started with. */
export interface EngineOptions {
  dataDir: string;
  /** A free port when absent. */
  port?: number | undefined;
  /** A file in `dataDir` when absent. */
  logFile?: string | undefined;
  /** Told as soon as the process exists, before it is ready. */
  onSpawn?: ((child: RunningProcess) => void) | undefined;
}

export interface ChildOptions {
  command: string;
  args: readonly string[];
  logFile: string;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** User and group to run as; only root may ask for another one. */
  owner?: { uid: number; gid: number } | undefined;
}

/**
 * Starts a process in a session of its own, so that a terminal's Ctrl-C reaches only its owner, who stops it in order.
 * Output is appended to `logFile`. Throws when the command cannot be run.
 */
export async function spawnChild(options: ChildOptions): Promise<Child> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a', 0o600);
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: options.cwd,
    env: options.env,
    ...options.owner,
  });
  closeSync(log);
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await once(child, 'spawn');
  return {
    pid: child.pid ?? 0,
    exited,
    async stop(signal, timeoutMs) {
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** "exit code 1" or "SIGKILL". */
export function describeExit(exit: ProcessExit): string {
  return exit.signal ?? `exit code ${exit.code}`;
}
