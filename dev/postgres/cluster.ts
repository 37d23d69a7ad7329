import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { PostgresBinaries } from './binaries.ts';
import { canEnter, type Owner, SHARED_HOME } from './owner.ts';

export const SUPERUSER = 'promptlane';

export interface Cluster {
  /** PGDATA of Postgres. */
  directory: string;
  password: string;
}

/** Returns the directory of the cluster: in `dataDir`, or the directory that the file `location` names. */
export function clusterDirectory(dataDir: string): string {
  const location = join(dataDir, 'location');
  return existsSync(location) ? readFileSync(location, 'utf8').trim() : join(dataDir, 'cluster');
}

/** Creates the cluster on first use. Throws with the output of initdb if that fails. */
export function ensureCluster(dataDir: string, binaries: PostgresBinaries, owner: Owner | undefined): Cluster {
  mkdirSync(dataDir, { recursive: true, mode: owner ? 0o711 : 0o700 });
  const passwordFile = join(dataDir, 'password');
  const found = clusterDirectory(dataDir);
  if (existsSync(join(found, 'PG_VERSION'))) {
    return { directory: found, password: readFileSync(passwordFile, 'utf8').trim() };
  }
  const password = randomBytes(24).toString('base64url');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  const directory = canEnter(dataDir, owner) ? join(dataDir, 'cluster') : moveOut(dataDir);
  // The directory has another name until it is complete, so that an incomplete cluster is never used.
  const partial = `${directory}.new`;
  rmSync(partial, { recursive: true, force: true });
  initialize(partial, password, binaries, owner);
  renameSync(partial, directory);
  return { directory, password };
}

/**
 * Returns a directory for the cluster if the user of the server cannot reach the data directory,
 * for example below /root.
 */
function moveOut(dataDir: string): string {
  mkdirSync(SHARED_HOME, { recursive: true, mode: 0o755 });
  const home = mkdtempSync(join(SHARED_HOME, 'postgres-data-'));
  chmodSync(home, 0o711);
  const directory = join(home, 'cluster');
  writeFileSync(join(dataDir, 'location'), `${directory}\n`);
  return directory;
}

function initialize(directory: string, password: string, binaries: PostgresBinaries, owner: Owner | undefined): void {
  mkdirSync(directory, { mode: 0o700 });
  const passwordFile = `${directory}.password`;
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (owner) {
    chownSync(directory, owner.uid, owner.gid);
    chownSync(passwordFile, owner.uid, owner.gid);
  }
  const args = [
    `--pgdata=${directory}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    // The order of C with the upper and lower case of Unicode. docker-compose.yml has the same settings.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    '--no-sync',
  ];
  const { status, error, stderr } = spawnSync(binaries.initdb, args, {
    ...owner,
    cwd: directory,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    encoding: 'utf8',
  });
  rmSync(passwordFile);
  if (status !== 0) throw new Error(`initdb failed in ${directory}: ${error?.message ?? stderr.trim()}`);
}
