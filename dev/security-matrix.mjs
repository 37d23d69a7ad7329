// `npm run security:matrix`: the security matrix of the tests, alone and printed.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './install.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
await ensureInstalled(root);
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const args = ['run', '--project', 'api', 'test/api/auth/security-matrix.test.ts', '--disableConsoleIntercept'];
const env = { ...process.env, PRINT_SECURITY_MATRIX: '1' };
const child = spawn(process.execPath, [vitest, ...args], { cwd: root, env, stdio: 'inherit' });
// A terminal sends Ctrl-C to vitest as well; a signal to this process alone has to be passed on.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (code) => process.exit(code ?? 1));
