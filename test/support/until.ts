import { setTimeout as delay } from 'node:timers/promises';

const pollMs = 25;

/**
 * Waits until the condition returns a value that is neither false nor undefined, and returns this
 * value. An error of the condition counts as not fulfilled. Throws after `timeoutMs` with the
 * description of the condition, and with the last error, if any.
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
