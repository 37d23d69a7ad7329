import { setTimeout as delay } from 'node:timers/promises';

const pollMs = 25;

/**
 * Waits for a condition; what it answers last, when that is neither false nor undefined. An error
 * of the condition counts as not yet. Throws after `timeoutMs` with what was waited for and, if
 * there was one, the last error.
 */
export async function until<T>(
  what: string,
  timeoutMs: number,
  condition: () => Promise<T | false | undefined> | T | false | undefined,
): Promise<T> {
  const deadlineMs = Date.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value !== false && value !== undefined) return value;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > deadlineMs) throw new Error(`${what}: not within ${timeoutMs} ms`, { cause: lastError });
    await delay(pollMs);
  }
}
