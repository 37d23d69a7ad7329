// This file is plain JavaScript, because it runs before the installation, and because an old
// version of Node must be able to parse it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const NODE_MIN = [20, 19];

/** Returns the fault of this version of Node ("20.11.1"), or undefined if it is supported. */
export function nodeVersionFault(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return undefined;
  return `Node ${version} is too old: Promptlane needs Node ${NODE_MIN.join('.')} or newer (https://nodejs.org)`;
}

/**
 * Returns why `npm ci` must run, or undefined if node_modules contains the packages of
 * package-lock.json. npm writes node_modules/.package-lock.json as its last step, so after an
 * interrupted installation the file is missing.
 */
export function staleReason(lock, installed) {
  if (!installed) return 'nothing is installed yet';
  for (const [path, wanted] of Object.entries(lock.packages)) {
    const found = installed.packages[path];
    if (path === '' || (!found && (wanted.optional || wanted.devOptional))) continue;
    if (!found) return `${path} is missing`;
    if (found.version !== wanted.version || found.integrity !== wanted.integrity) return `${path} has changed`;
  }
  return undefined;
}

/**
 * Returns why `npm ci` must run in a directory with a package-lock.json, or undefined. Ends the
 * process if the file is missing.
 */
export function staleInstallation(directory) {
  const lock = readJson(join(directory, 'package-lock.json'));
  if (!lock) fail(`${join(directory, 'package-lock.json')} cannot be read. Check that the checkout is complete`);
  return staleReason(lock, readJson(join(directory, 'node_modules', '.package-lock.json')));
}

/** Ends the process with a message if Node is too old or the dependencies cannot be installed. */
export async function ensureInstalled(root) {
  const fault = nodeVersionFault(process.versions.node);
  if (fault) fail(fault);
  await installWhenStale(root, 'dependencies', ['--include=dev']);
}

/**
 * Installs the SDKs that test/e2e runs as applications. They are in a separate package, so that
 * only `npm test` waits for their installation. The log level hides a warning of one SDK, which
 * states a newer version of Node than it needs.
 */
export async function ensureTestClientsInstalled(root) {
  await installWhenStale(join(root, 'test', 'clients'), 'the clients of the tests', [
    '--ignore-scripts',
    '--loglevel=error',
  ]);
}

async function installWhenStale(directory, what, options) {
  const reason = staleInstallation(directory);
  if (!reason) return;
  console.log(`… installing ${what} (${reason})`);
  const startedAtMs = Date.now();
  const npm = process.env.npm_execpath;
  const [command, ...prefix] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const args = [...prefix, 'ci', ...options, '--no-audit', '--no-fund'];
  const child = spawn(command, args, { cwd: directory, stdio: 'inherit' });
  // After an interrupt, npm takes half a minute to undo its changes. If it is started again in this
  // time, it finds a directory that cannot be removed. So npm is killed.
  const interrupt = () => child.kill('SIGKILL');
  process.on('SIGINT', interrupt);
  const [status] = await once(child, 'exit').catch((error) => fail(`npm cannot be started: ${error.message}`));
  process.off('SIGINT', interrupt);
  if (child.killed) fail('the installation was interrupted. The next start repeats it');
  if (status !== 0) fail('npm ci failed. The lines above contain the reason');
  console.log(`✓ installed ${what} (${((Date.now() - startedAtMs) / 1000).toFixed(1)} s)`);
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function fail(message) {
  console.error(`✗ ${message}`);
  process.exit(1);
}
