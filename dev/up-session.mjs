// Started by up.mjs in a session of its own: all processes of `up` are children of this one.
import { fileURLToPath } from 'node:url';
import { register } from 'tsx/esm/api';

// If up.mjs is killed, this process ends like it, and the reaper ends the others.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
const root = fileURLToPath(new URL('..', import.meta.url));
register();
const { up } = await import('./up.ts');
process.exit(await up(root, process.env));
