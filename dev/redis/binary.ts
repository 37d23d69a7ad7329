import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installRedis } from './install.ts';

export interface RedisBinary {
  path: string;
  /** Version, for example "7.0.15". */
  version: string;
}

const NAMES = ['redis-server', 'valkey-server'];
const USUAL_DIRECTORIES = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];
/** BullMQ 6 needs Redis 6.2. */
const VERSION_MIN = [6, 2] as const;

/**
 * Returns a Redis or Valkey server of at least 6.2. Installs it if possible, otherwise throws with
 * the command to run.
 */
export async function ensureRedisBinary(): Promise<RedisBinary> {
  const found = findRedis();
  if (found.usable) return found.usable;
  const tooOld =
    found.tooOld && `${found.tooOld.path} is version ${found.tooOld.version}, Promptlane needs 6.2 or newer`;
  await installRedis(tooOld ?? 'there is no redis-server or valkey-server on this machine');
  const installed = findRedis().usable;
  if (!installed) throw new Error('Redis was installed, but no redis-server of 6.2 or newer is found on PATH');
  return installed;
}

/** Returns the version in the output of `redis-server --version` or `valkey-server --version`. */
export function parseRedisVersion(output: string): string | undefined {
  return /\bv=(\d+\.\d+(?:\.\d+)*)/.exec(output)?.[1];
}

/** Returns whether a version such as "6.2.14" is 6.2 or newer. */
export function isRecentEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]);
}

function findRedis(): { usable?: RedisBinary; tooOld?: RedisBinary } {
  const directories = [...(process.env.PATH ?? '').split(delimiter), ...USUAL_DIRECTORIES];
  const paths = new Set(NAMES.flatMap((name) => directories.map((directory) => join(directory, name))));
  let tooOld: RedisBinary | undefined;
  for (const path of paths) {
    if (!existsSync(path)) continue;
    const version = parseRedisVersion(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? '');
    if (version === undefined) continue;
    if (isRecentEnough(version)) return { usable: { path, version } };
    tooOld ??= { path, version };
  }
  return tooOld ? { tooOld } : {};
}
