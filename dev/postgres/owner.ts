import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

/** The user and group of a process. */
export interface Owner {
  uid: number;
  gid: number;
}

/** Directory of root for files that the user of Postgres must reach but cannot reach below /root. */
export const SHARED_HOME = '/var/lib/promptlane';

/**
 * Returns the user that runs the server. Postgres refuses root. So for root it is the owner of an
 * existing cluster, or else `postgres` or `nobody`. Undefined means the current user. Throws if
 * root has no such user.
 */
export function postgresOwner(clusterDir: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (existsSync(clusterDir)) {
    const { uid, gid } = statSync(clusterDir);
    if (uid !== 0) return { uid, gid };
  }
  const owner = lookUp('postgres') ?? lookUp('nobody');
  if (!owner)
    throw new Error('Postgres refuses to run as root and there is no user "postgres" or "nobody" to run it as');
  return owner;
}

/** Returns whether the owner can run this program. The system decides this, not the modes and ACLs. */
export function canRun(program: string, args: readonly string[], owner: Owner | undefined): boolean {
  return spawnSync(program, args, { ...owner, cwd: '/', stdio: 'ignore' }).status === 0;
}

/** Returns whether the owner can enter this directory. */
export function canEnter(directory: string, owner: Owner | undefined): boolean {
  return canRun('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], owner);
}

function lookUp(user: string): Owner | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout?.trim());
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}
