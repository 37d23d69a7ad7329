import { Worker } from 'node:worker_threads';

const beatEveryMs = 1_000;
const silenceMaxMs = 20_000;

/** Runs in a thread, which goes on while the main thread is stuck. Kept as text: it is the same in source and build. */
const code = `
const { workerData } = require('node:worker_threads');
const beats = new Int32Array(workerData.shared);
let seen = -1;
let seenAtMs = Date.now();
setInterval(() => {
  const beat = Atomics.load(beats, 0);
  if (beat !== seen) { seen = beat; seenAtMs = Date.now(); }
  else if (Date.now() - seenAtMs > workerData.silenceMaxMs) process.kill(process.pid, 'SIGKILL');
}, 1000);`;

/**
 * Kills the process when its event loop stands still for 20 s, as it does on a body that is worked on for ever: its jobs are then
 * seen as stalled and the supervisor starts another worker.
 */
export function startWatchdog(): { stop: () => void } {
  const shared = new SharedArrayBuffer(4);
  const beats = new Int32Array(shared);
  const timer = setInterval(() => Atomics.add(beats, 0, 1), beatEveryMs);
  const thread = new Worker(code, { eval: true, workerData: { shared, silenceMaxMs } });
  thread.unref();
  return {
    stop() {
      clearInterval(timer);
      void thread.terminate();
    },
  };
}
