// `npm run up` from a fresh clone: needs nothing but Node until the dependencies are there.
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './install.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
ensureInstalled(root);
const { register } = await import('tsx/esm/api');
register();
const { up } = await import('./up.ts');
process.exit(await up(root, process.env));
