import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { RunningProcess } from './child.ts';

/** If this process is killed, the reaper ends the processes that it started. It can also remove a directory. */
export interface Reaper {
  watch(child: RunningProcess): void;
  /** Ends the reaper. It then ends no process. */
  close(): Promise<void>;
}

// Each line of the standard input is the complete list of pids. The end of the input means that the owner has ended.
// SIGINT is the fast shutdown of Postgres. SIGTERM is for processes that ignore SIGINT.
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

/** Starts the shell in its own session, so that it runs after its owner has ended. */
export function startReaper(removeDirectory = ''): Reaper {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'promptlane-reaper', removeDirectory], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const exited = once(shell, 'exit');
  // If the shell is killed, this process must continue.
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
