import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { AttackOrder } from './attack-process.ts';

const chrt = '/usr/bin/chrt';

export interface RunningAttack {
  begin(): void;
  /** Ends it as a client that is killed: its connections break off. */
  end(): Promise<void>;
}

/**
 * An attack in a process of its own, so that the work of the attacker is not in the way of the one who measures. It gets what processor
 * the others leave: a client has a machine of its own, and how its own work is in the way of the service is not what is measured.
 */
export async function prepareAttack(order: AttackOrder): Promise<RunningAttack> {
  const file = fileURLToPath(new URL('./attack-process.ts', import.meta.url));
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const;
  const child = fork(file, { ...idleNode(['--import', 'tsx']), stdio: [...stdio], detached: true });
  if (child.pid !== undefined) takeLowestPriority(child.pid);
  const exited = once(child, 'exit');
  child.send(order);
  await Promise.race([
    once(child, 'message'),
    exited.then(() => {
      throw new Error(`The attack ${order.name} ended before it began`);
    }),
  ]);
  return {
    begin: () => void child.send({ begin: true }),
    async end() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/**
 * Under Linux' policy for idle work, where util-linux is there: a nice value alone lets a client that has the processor keep it for
 * some milliseconds while the service wants it, at each of the ten or so times that a request goes from thread to thread.
 */
function idleNode(execArgv: string[]): { execPath?: string; execArgv: string[] } {
  if (!existsSync(chrt)) return { execArgv };
  return { execPath: chrt, execArgv: ['--idle', '0', process.execPath, ...execArgv] };
}

/** Of a process that leads a session; Linux may weigh whole sessions against each other before it looks at processes (sched(7), "The autogroup feature"). */
function takeLowestPriority(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW);
  const autogroup = `/proc/${pid}/autogroup`;
  if (existsSync(autogroup)) writeFileSync(autogroup, String(constants.priority.PRIORITY_LOW));
}
