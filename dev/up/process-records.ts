import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningProcess } from '../process/child.ts';
import { identify, isAlive, waitUntilGone } from '../process/identity.ts';
import { readIfPresent, replaceJson } from './files.ts';
import { parseLock } from './lock.ts';
import { type ProcessName, STOP_ORDER } from './process-names.ts';

const GRACE_MS = 5_000;

/** Records a process on disk while it runs, so that a later `up` finds it if this one is killed. */
export function recordProcess(directory: string, name: ProcessName, child: RunningProcess): void {
  const identity = identify(child.pid);
  if (!identity) return;
  const path = recordPath(directory, name);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  replaceJson(path, identity);
  void child.exited.then(() => {
    if (parseLock(readIfPresent(path) ?? '')?.pid === child.pid) rmSync(path);
  });
}

/** Ends the processes that a killed `up` left running. Ignores a recorded pid that now belongs to another process. */
export async function stopLeftovers(directory: string): Promise<void> {
  for (const name of STOP_ORDER) {
    const identity = parseLock(readIfPresent(recordPath(directory, name)) ?? '');
    if (identity && isAlive(identity)) {
      console.log(`… stopping ${name} (pid ${identity.pid}), left over from an instance that was killed`);
      process.kill(identity.pid, name === 'postgres' ? 'SIGINT' : 'SIGTERM');
      if (!(await waitUntilGone(identity, GRACE_MS))) process.kill(identity.pid, 'SIGKILL');
      await waitUntilGone(identity, GRACE_MS);
    }
    rmSync(recordPath(directory, name), { force: true });
  }
}

function recordPath(directory: string, name: ProcessName): string {
  return join(directory, `${name}.json`);
}
