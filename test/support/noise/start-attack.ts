import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { AttackOrder } from './attack-process.ts';

const chrt = '/usr/bin/chrt';

export interface RunningAttack {
  begin(): void;
  /** Ends the attack like a killed client: its connections break. */
  end(): Promise<void>;
}

/**
 * Starts an attack in a separate process, so that its work does not delay the measurement. It gets
 * the processor time that other processes leave, because a real client has its own machine.
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
      throw new Error(`The attack ${order.name} ended before it was ready`);
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
 * Uses the Linux policy for idle work, if util-linux is installed. With only a nice value, a
 * running client keeps the processor for some milliseconds while the service wants it, each of the
 * about ten times that a request passes between threads.
 */
function idleNode(execArgv: string[]): { execPath?: string; execArgv: string[] } {
  if (!existsSync(chrt)) return { execArgv };
  return { execPath: chrt, execArgv: ['--idle', '0', process.execPath, ...execArgv] };
}

/**
 * Nice value of the session of a process. Linux can schedule sessions before it schedules processes
 * (sched(7), "The autogroup feature").
 */
function takeLowestPriority(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW);
  const autogroup = `/proc/${pid}/autogroup`;
  if (existsSync(autogroup)) writeFileSync(autogroup, String(constants.priority.PRIORITY_LOW));
}
