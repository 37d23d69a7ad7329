import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { identify, isAlive, type ProcessIdentity } from '../process/identity.ts';
import { CannotStart } from './errors.ts';
import { readIfPresent } from './files.ts';

const lockSchema = z.object({ pid: z.int().positive(), startTime: z.string() });

const ATTEMPTS_MAX = 10;

/**
 * Takes the data directory's lock file for this process, or throws CannotStart naming the pid that holds it.
 * The lock of a process that no longer lives is taken over. Returns the function that releases it.
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
  throw new CannotStart(`${path} is taken and released all the time by other instances: try again`);
}

/** Who a lock file names, undefined when it cannot be read as one. */
export function parseLock(content: string): ProcessIdentity | undefined {
  try {
    return lockSchema.parse(JSON.parse(content));
  } catch {
    return undefined;
  }
}

/** A link appears with its whole content or not at all, and fails when the name exists. */
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
    throw new CannotStart(`this data directory is in use by another instance, pid ${holder.pid} (${path})`);
  }
  const retired = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, retired);
  } catch {
    return;
  }
  // Another instance may have put its own lock there since we looked: give it back.
  if (readIfPresent(retired) !== content) linkIfAbsent(retired, path);
  rmSync(retired);
}
