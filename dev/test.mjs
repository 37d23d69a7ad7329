// `npm test`: prepares the engines like `npm run up`, then runs every test project. Arguments are passed to vitest.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, ensureTestClientsInstalled } from './install.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
await ensureInstalled(root);
await ensureTestClientsInstalled(root);
const { register } = await import('tsx/esm/api');
register();
const { ensureRedisBinary } = await import('./redis/binary.ts');
try {
  await ensureRedisBinary();
} catch (error) {
  console.error(`✗ ${error.message}`);
  process.exit(1);
}
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const child = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2)], { stdio: 'inherit' });
// A terminal also sends Ctrl-C to vitest. A signal to this process only must be passed on.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (code) => process.exit(code ?? 1));
