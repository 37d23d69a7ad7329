import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

// Only the program is needed, not the service that the package starts on port 6379. policy-rc.d
// (invoke-rc.d(8)) prevents the start, and the shell removes it at its end. The package lists of an
// image are often old, so they are updated first.
const APT = `
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  trap 'exit 130' INT TERM HUP
  printf '#!/bin/sh\\nexit 101\\n' > $policy
  chmod 755 $policy
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends redis-server
if [ -d /run/systemd/system ]; then systemctl disable --quiet redis-server.service || true; fi
`;

interface Installer {
  name: string;
  isUsable(): boolean;
  command: string;
  args: readonly string[];
}

const INSTALLERS: readonly Installer[] = [
  {
    name: 'apt-get',
    isUsable: () => process.getuid?.() === 0 && hasCommand('apt-get'),
    command: '/bin/sh',
    args: ['-c', APT],
  },
  { name: 'brew', isUsable: () => hasCommand('brew'), command: 'brew', args: ['install', 'redis'] },
];

/** Installs the program redis-server and shows the output of the installer. Throws with the command to run by hand. */
export async function installRedis(reason: string): Promise<void> {
  const installer = INSTALLERS.find((candidate) => candidate.isUsable());
  if (!installer) throw new Error(`${reason}. ${byHand()}`);
  console.log(`… installing Redis with ${installer.name} (${reason})`);
  const startedAtMs = Date.now();
  const child = spawn(installer.command, installer.args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${reason}, and ${installer.name} failed (exit code ${code}). ${byHand()}`);
  console.log(`✓ Redis installed (${((Date.now() - startedAtMs) / 1000).toFixed(1)} s)`);
}

function byHand(): string {
  const command =
    process.platform === 'darwin'
      ? 'brew install redis'
      : 'sudo apt-get update && sudo apt-get install -y redis-server';
  return `Run: ${command} (or your system's package of Redis or Valkey 6.2 or newer), or set REDIS_URL to a running server`;
}

function hasCommand(name: string): boolean {
  return spawnSync('/bin/sh', ['-c', `command -v ${name}`], { stdio: 'ignore' }).status === 0;
}
