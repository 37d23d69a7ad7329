import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A running process. `pid` is the pid of the process itself, never of a wrapper. */
export interface RunningProcess {
  readonly pid: number;
  readonly exited: Promise<ProcessExit>;
}

export interface Child extends RunningProcess {
  /** Sends `signal`, then SIGKILL after `timeoutMs`. Resolves when the process has ended. */
  stop(signal: NodeJS.Signals, timeoutMs: number): Promise<void>;
}

/** A running engine at `url`. */
export interface EngineProcess extends RunningProcess {
  readonly url: string;
  readonly port: number;
  /** Version, for example "18.4". */
  readonly version?: string;
  stop(): Promise<void>;
}

/** Options for the start of every engine. */
export interface EngineOptions {
  dataDir: string;
  /** Default: a free port. */
  port?: number | undefined;
  /** Default: a file in `dataDir`. */
  logFile?: string | undefined;
  /** Called when the process exists, before it is ready. */
  onSpawn?: ((child: RunningProcess) => void) | undefined;
}

export interface ChildOptions {
  command: string;
  args: readonly string[];
  logFile: string;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** User and group of the process. Only root may set another user. */
  owner?: { uid: number; gid: number } | undefined;
}

/**
 * Starts a process in the session of this one, so that Linux compares the priorities of the threads of
 * all. Output is appended to `logFile`. Throws if the command cannot run.
 */
export async function spawnChild(options: ChildOptions): Promise<Child> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a', 0o600);
  const child = spawn(options.command, options.args, {
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

/** Returns, for example, "exit code 1" or "SIGKILL". */
export function describeExit(exit: ProcessExit): string {
  return exit.signal ?? `exit code ${exit.code}`;
}
