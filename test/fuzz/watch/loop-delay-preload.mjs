// Loaded before the API and the worker. It writes every stall of the event loop as a line of JSON
// to LOOP_DELAY_DIRECTORY/<pid>. The line has the CPU time of the main thread during the stall.
// This time distinguishes own work from a busy machine.
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const everyMs = 10;
/** Shorter stalls are not written. The reader decides which stalls are faults. */
const stallMsMin = 25;

const directory = process.env.LOOP_DELAY_DIRECTORY;
if (isMainThread && directory !== undefined) {
  const file = join(directory, String(process.pid));
  let last = { atMs: performance.now(), cpuMs: mainThreadCpuMs() };
  setInterval(() => {
    const now = { atMs: performance.now(), cpuMs: mainThreadCpuMs() };
    const ms = now.atMs - last.atMs - everyMs;
    if (ms >= stallMsMin) {
      const line = {
        endedAtMs: Date.now(),
        ms: round(ms),
        cpuMs: now.cpuMs === null ? null : round(now.cpuMs - last.cpuMs),
      };
      appendFileSync(file, `${JSON.stringify(line)}\n`);
    }
    last = { atMs: performance.now(), cpuMs: now.cpuMs };
  }, everyMs).unref();
}

/** Returns null if the system is not Linux. */
function mainThreadCpuMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    return null;
  }
}

function round(ms) {
  return Math.round(ms * 10) / 10;
}
