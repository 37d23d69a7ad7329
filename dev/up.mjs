// `npm run up` in a fresh clone: needs only Node until the dependencies are installed.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './install.mjs';

const parentCheckMs = 500;

if (process.argv.length > 2) {
  console.log(
    'npm run up has no options. It starts everything and prints how to try it. README.md lists the environment variables.',
  );
  process.exit(process.argv[2] === '--help' ? 0 : 2);
}
const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
await ensureInstalled(root);

// All processes share one session, which is not that of the terminal. So Ctrl-C reaches only this process, and Linux
// compares the priorities of their threads: it first divides the processors between sessions (sched(7), "The autogroup
// feature").
const session = spawn(process.execPath, [fileURLToPath(new URL('./up-session.mjs', import.meta.url))], {
  detached: true,
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => session.kill(signal));
// npm may end without passing on a signal.
if (process.env.npm_lifecycle_event === 'up') {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && session.kill('SIGTERM'), parentCheckMs).unref();
}
session.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
