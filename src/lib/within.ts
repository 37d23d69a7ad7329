/** An operation took longer than its limit. */
export class TimeoutError extends Error {
  readonly code = 'ETIMEDOUT';
}

/** Used as the abort reason, because the default reason captures a stack trace on every request. */
const over = new TimeoutError('The caller no longer waits');

/**
 * Waits for `run`, but not longer than `timeoutMs`. The signal aborts when no caller waits any
 * more.
 * @throws TimeoutError
 */
export async function within<T>(timeoutMs: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`No response within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([timeout, run(controller.signal)]);
  } finally {
    clearTimeout(timer);
    controller.abort(over);
  }
}
