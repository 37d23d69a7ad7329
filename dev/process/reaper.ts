import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { RunningProcess } from './child.ts';

/** Ends what this process started and, if asked, removes a directory, when this process itself is killed. */
export interface Reaper {
  watch(child: RunningProcess): void;
  /** Ends the reaper without harm to anything. */
  close(): Promise<void>;
}

// Each line of its standard input is the whole list of pids; the end of input says that the owner is gone.
// SIGINT is Postgres's fast shutdown; SIGTERM is for processes that ignore SIGINT.
const SCRIPT = `
pids=
while IFS= read -r line; do pids=$line; done
if [ "$pids" = close ]; then exit 0; fi
alive() { for pid in $pids; do kill -0 "$pid" && return 0; done; return 1; }
for pid in $pids; do kill -INT "$pid"; kill -TERM "$pid"; done
tries=0
while [ $tries -lt 50 ] && alive; do sleep 0.1; tries=$((tries + 1)); done
for pid in $pids; do kill -KILL "$pid"; done
if [ -n "$1" ]; then rm -rf "$1"; fi
`;

/** Starts the watching shell, in a session of its own so that it outlives whatever ends its owner. */
export function startReaper(removeDirectory = ''): Reaper {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'promptlane-reaper', removeDirectory], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const exited = once(shell, 'exit');
  // Should somebody kill the shell, its loss must not be ours.
  shell.stdin.on('error', () => undefined);
  const pids = new Set<number>();
  const tell = () => shell.stdin.write(`${[...pids].join(' ')}\n`);
  return {
    watch(child) {
      pids.add(child.pid);
      tell();
      void child.exited.then(() => {
        pids.delete(child.pid);
        tell();
      });
    },
    async close() {
      shell.stdin.end('close\n');
      await exited;
    },
  };
}
