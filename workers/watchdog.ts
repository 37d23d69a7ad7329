import { Worker } from 'node:worker_threads';

const beatEveryMs = 500;

/**
 * Code of the thread, which runs even while the main thread is blocked. It is text, so that it is
 * the same in source and build.
 */
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
 * Kills the process when its event loop is blocked for `silenceMaxS`, as by a body whose processing
 * never ends: its jobs then count as stalled and the supervisor starts another worker. No valid
 * body takes so long: large ones become rows in threads with limits of their own, and the worst
 * small one blocks the event loop for less than 250 ms (test/unit/ingestion/body-encoder.test.ts). Time is
 * counted in checks, one a second, because a machine that was suspended made no checks.
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
