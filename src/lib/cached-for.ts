/**
 * Returns a function that shares one result, or one error, with all callers while it is pending and
 * for `ttlMs` after. So `load` runs at most once per `ttlMs` and never twice at the same time, however often
 * the function is called.
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
