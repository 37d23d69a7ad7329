// `npm test`: prepares the engines like `npm run up`, then runs every test project. Arguments are passed to vitest.
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
await import('./vitest.mjs');
