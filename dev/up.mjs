// `npm run up` from a fresh clone: needs nothing but Node until the dependencies are there.
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './install.mjs';

if (process.argv.length > 2) {
  console.log(
    'npm run up takes no options: it starts everything and says how to try it. README.md lists the environment variables.',
  );
  process.exit(process.argv[2] === '--help' ? 0 : 2);
}
const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
await ensureInstalled(root);
const { register } = await import('tsx/esm/api');
register();
const { up } = await import('./up.ts');
process.exit(await up(root, process.env));
