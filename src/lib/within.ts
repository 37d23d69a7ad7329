/** Something took longer than it was given. */
export class TimeoutError extends Error {
  readonly code = 'ETIMEDOUT';
}

/** Given as the reason, because the default one captures a stack, on every request. */
const over = new TimeoutError('Nobody waits any more');

/**
 * Waits for `run`, but not longer than `timeoutMs`; the signal aborts as soon as nobody waits any more.
 * @throws TimeoutError
 */
export async function within<T>(timeoutMs: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`No answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([timeout, run(controller.signal)]);
  } finally {
    clearTimeout(timer);
    controller.abort(over);
  }
}
