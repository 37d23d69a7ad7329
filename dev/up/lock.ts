import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { identify, isAlive, type ProcessIdentity } from '../process/identity.ts';
import { CannotStart } from './errors.ts';
import { readIfPresent } from './files.ts';

const lockSchema = z.object({ pid: z.int().positive(), startTime: z.string() });

const ATTEMPTS_MAX = 10;

/**
 * Locks the data directory for this process. Throws CannotStart with the pid of the process that
 * has locked it. Replaces the lock of a process that has ended. Returns the function that releases
 * the lock.
 */
export function acquireLock(path: string): () => void {
  const own = JSON.stringify(identify(process.pid));
  const prepared = `${path}.${process.pid}`;
  writeFileSync(prepared, own, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (linkIfAbsent(prepared, path)) {
        return () => {
          if (readIfPresent(path) === own) rmSync(path);
        };
      }
      const content = readIfPresent(path);
      if (content !== undefined) retireStaleLock(path, content);
    }
  } finally {
    rmSync(prepared);
  }
  throw new CannotStart(`${path} is locked and released repeatedly by other instances. Try again`);
}

/** Returns the process that a lock file names, or undefined if it is not a lock file. */
export function parseLock(content: string): ProcessIdentity | undefined {
  try {
    return lockSchema.parse(JSON.parse(content));
  } catch {
    return undefined;
  }
}

/** Creates the file as a link, which appears with its whole content. Fails if the name exists. */
function linkIfAbsent(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function retireStaleLock(path: string, content: string): void {
  const holder = parseLock(content);
  if (holder && isAlive(holder)) {
    throw new CannotStart(
      `this data directory is in use by another instance, pid ${holder.pid} (${path}): stop it, or set another DATA_DIR`,
    );
  }
  const retired = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, retired);
  } catch {
    return;
  }
  // Another instance may have created its lock in the meantime. It is restored.
  if (readIfPresent(retired) !== content) linkIfAbsent(retired, path);
  rmSync(retired);
}
