import { setMaxListeners } from 'node:events';
import { type AttackName, attacks } from './attacks.ts';
import type { Target } from './target.ts';

/**
 * First message of the test. The reply is `{ ready: true }` when the attack is prepared. The attack
 * runs until the process ends.
 */
export interface AttackOrder {
  name: AttackName;
  target: Target;
}

process.on('disconnect', () => process.exit(0));
process.once('message', async ({ name, target }: AttackOrder) => {
  const attack: { prepare?: (target: Target) => Promise<void>; run: (typeof attacks)[AttackName]['run'] } =
    attacks[name];
  await attack.prepare?.(target);
  process.send?.({ ready: true });
  const { signal } = new AbortController();
  setMaxListeners(0, signal); // One for each connection.
  process.once('message', () => void attack.run(target, signal));
});
