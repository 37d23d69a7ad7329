// `npm run up` in a fresh clone: needs only Node until the dependencies are installed.
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './install.mjs';

if (process.argv.length > 2) {
  console.log(
    'npm run up has no options. It starts everything and prints how to try it. README.md lists the environment variables.',
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
