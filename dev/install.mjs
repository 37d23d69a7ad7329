// Plain JavaScript: this runs before anything is installed and must parse on a Node that is too old.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const NODE_MIN = [20, 19];

/** What is wrong with this Node version ("20.11.1"), or undefined when it will do. */
export function nodeVersionFault(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return undefined;
  return `Node ${version} is too old: Promptlane needs Node ${NODE_MIN.join('.')} or newer (https://nodejs.org)`;
}

/**
 * Why `npm ci` has to run, or undefined when node_modules holds what package-lock.json names.
 * npm writes node_modules/.package-lock.json as its last step, so an interrupted install counts as absent.
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

/** Leaves the process with a message when Node is too old or the dependencies cannot be installed. */
export function ensureInstalled(root) {
  const fault = nodeVersionFault(process.versions.node);
  if (fault) fail(fault);
  const lock = readJson(join(root, 'package-lock.json'));
  if (!lock) fail(`${join(root, 'package-lock.json')} cannot be read: is the checkout complete?`);
  const reason = staleReason(lock, readJson(join(root, 'node_modules', '.package-lock.json')));
  if (!reason) return;
  console.log(`… installing dependencies (${reason})`);
  const startedAtMs = Date.now();
  const npm = process.env.npm_execpath;
  const [command, ...prefix] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const args = [...prefix, 'ci', '--include=dev', '--no-audit', '--no-fund'];
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) fail(`npm ci failed${error ? `: ${error.message}` : ''}; the lines above say why`);
  console.log(`✓ dependencies installed (${((Date.now() - startedAtMs) / 1000).toFixed(1)} s)`);
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
