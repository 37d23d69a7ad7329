import { setImmediate } from 'node:timers/promises';

let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves in a turn of the event loop of the caller's own. Bodies come from Redis in bunches; worked on in one go they would keep
 * a batch that is being sent from its socket, and job locks from being renewed.
 */
export async function ownTurn(): Promise<void> {
  const turn = last.then(() => setImmediate());
  last = turn;
  await turn;
}
