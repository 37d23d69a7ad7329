// `npm run security:matrix`: runs only the security matrix of the tests, and prints it.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './install.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
await ensureInstalled(root);
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const args = ['run', '--project', 'api', 'test/api/auth/security-matrix.test.ts', '--disableConsoleIntercept'];
const env = { ...process.env, PRINT_SECURITY_MATRIX: '1' };
const child = spawn(process.execPath, [vitest, ...args], { cwd: root, env, stdio: 'inherit' });
// A terminal also sends Ctrl-C to vitest. A signal to this process only must be passed on.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (code) => process.exit(code ?? 1));
