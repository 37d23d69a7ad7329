import { setTimeout as delay } from 'node:timers/promises';

/** Asks until the answer is neither undefined nor false, and returns it. Throws naming `what` after `timeoutMs`. */
export async function until<T>(
  what: string,
  timeoutMs: number,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadlineMs) throw new Error(`${what}: not so after ${timeoutMs} ms`);
    await delay(20);
  }
}
