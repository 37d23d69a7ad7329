import { setMaxListeners } from 'node:events';
import { type AttackName, attacks } from './attacks.ts';
import type { Target } from './target.ts';

/** What the test sends to begin with; the answer is `{ ready: true }` once the attack is prepared, and it runs until the process is ended. */
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
