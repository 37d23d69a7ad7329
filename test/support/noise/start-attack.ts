import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AttackOrder } from './attack-process.ts';

export interface RunningAttack {
  begin(): void;
  /** Ends it as a client that is killed: its connections break off. */
  end(): Promise<void>;
}

/** An attack in a process of its own, so that the work of the attacker is not in the way of the one who measures. */
export async function prepareAttack(order: AttackOrder): Promise<RunningAttack> {
  const file = fileURLToPath(new URL('./attack-process.ts', import.meta.url));
  const child = fork(file, { execArgv: ['--import', 'tsx'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
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
