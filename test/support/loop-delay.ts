/** Measures pauses of the event loop of this process. `stop` returns the longest in milliseconds. */
export function watchLoop(): { stop: () => number } {
  let [longestMs, lastMs] = [0, performance.now()];
  const timer = setInterval(() => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 1);
  return {
    stop() {
      clearInterval(timer);
      return Math.max(longestMs, performance.now() - lastMs);
    },
  };
}
