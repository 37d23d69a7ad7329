import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

/** The user and group a process runs as. */
export interface Owner {
  uid: number;
  gid: number;
}

/** Root's place for what Postgres's user must reach and cannot where it is, such as below /root. */
export const SHARED_HOME = '/var/lib/promptlane';

/**
 * Who runs the server: Postgres refuses root, so for root the owner of an existing cluster, else `postgres` or `nobody`.
 * Undefined means ourselves. Throws when root has no such user to turn to.
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

/** Whether the owner can run this program; the answer of the system itself, whatever modes and ACLs say. */
export function canRun(program: string, args: readonly string[], owner: Owner | undefined): boolean {
  return spawnSync(program, args, { ...owner, cwd: '/', stdio: 'ignore' }).status === 0;
}

/** Whether the owner can enter this directory. */
export function canEnter(directory: string, owner: Owner | undefined): boolean {
  return canRun('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], owner);
}

function lookUp(user: string): Owner | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout?.trim());
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}
