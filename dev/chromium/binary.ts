import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const USUAL_PATHS = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];
const APT = 'apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium';

/**
 * Returns the path of Chromium or Chrome. Installs Debian's Chromium if this process may, otherwise
 * throws with the command to run.
 */
export function ensureChromium(): string {
  const found = findChromium() ?? installChromium();
  if (found !== undefined) return found;
  throw new Error(
    "There is no Chromium on this machine. Run: sudo apt-get install -y chromium (or your system's package of Chromium or Chrome)",
  );
}

function findChromium(): string | undefined {
  const directories = (process.env.PATH ?? '').split(delimiter);
  const paths = NAMES.flatMap((name) => directories.map((directory) => join(directory, name)));
  return [...paths, ...USUAL_PATHS].find((path) => existsSync(path));
}

function installChromium(): string | undefined {
  const mayInstall = process.getuid?.() === 0 && spawnSync('/bin/sh', ['-c', 'command -v apt-get']).status === 0;
  if (!mayInstall) return undefined;
  console.log('… installing Chromium with apt-get (there is none on this machine)');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync('/bin/sh', ['-c', APT], { stdio: 'inherit', env });
  return findChromium();
}
