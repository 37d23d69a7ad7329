/**
 * A function whose answer, good or bad, is shared by everybody who asks while it is pending and for `ttlMs` after;
 * so what it asks is asked once per `ttlMs` and one at a time, however often it is called.
 */
export function cachedFor<T>(ttlMs: number, load: () => Promise<T>): () => Promise<T> {
  let held: Promise<T> | undefined;
  let staleAtMs = Number.POSITIVE_INFINITY;
  return () => {
    if (held === undefined || performance.now() >= staleAtMs) {
      staleAtMs = Number.POSITIVE_INFINITY;
      held = load().finally(() => {
        staleAtMs = performance.now() + ttlMs;
      });
    }
    return held;
  };
}
