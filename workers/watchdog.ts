import { Worker } from 'node:worker_threads';

const beatEveryMs = 500;

/** Runs in a thread, which goes on while the main thread is stuck. Kept as text: it is the same in source and build. */
const code = `
const { workerData } = require('node:worker_threads');
const beats = new Int32Array(workerData.shared);
let seen = -1;
let silentLooks = 0;
setInterval(() => {
  const beat = Atomics.load(beats, 0);
  silentLooks = beat === seen ? silentLooks + 1 : 0;
  seen = beat;
  if (silentLooks >= workerData.silenceMaxS) process.kill(process.pid, 'SIGKILL');
}, 1000);`;

/**
 * Kills the process when its event loop stands still for `silenceMaxS`, as it does on a body that is worked on for ever: its jobs
 * are then seen as stalled and the supervisor starts another worker. No body takes so long: large ones become rows in threads, which
 * have bounds of their own, and the worst small one holds the event loop for less than 250 ms (test/unit/body-encoder.test.ts). Counted
 * in looks, one a second, rather than by the clock: a machine that slept did not look.
 */
export function startWatchdog(silenceMaxS: number): { stop: () => void } {
  const shared = new SharedArrayBuffer(4);
  const beats = new Int32Array(shared);
  const timer = setInterval(() => Atomics.add(beats, 0, 1), beatEveryMs);
  const thread = new Worker(code, { eval: true, workerData: { shared, silenceMaxS } });
  thread.unref();
  return {
    stop() {
      clearInterval(timer);
      void thread.terminate();
    },
  };
}
