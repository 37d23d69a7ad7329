import { createWriteStream } from 'node:fs';
import { basename } from 'node:path';

/**
 * Loaded before the API or the worker. It measures the delay of a timer of 10 ms, like
 * monitorEventLoopDelay of perf_hooks. Every 250 ms it writes a line of JSON to
 * `$LOOP_DELAY_DIR/<process>.jsonl`.
 */
const everyMs = 10;
const linesEveryMs = 250;
const notableMs = 20;
const name = process.argv[1]?.includes('workers') ? 'worker' : 'api';
const file = `${process.env.LOOP_DELAY_DIR}/${name}.jsonl`;

if (['main.ts'].includes(basename(process.argv[1] ?? ''))) {
  // The write is asynchronous, because a busy disk would block the event loop.
  const lines = createWriteStream(file, { flags: 'a' });
  let last = performance.now();
  let count = 0;
  let late = [];
  setInterval(() => {
    const now = performance.now();
    const delayMs = now - last - everyMs;
    last = now;
    count++;
    if (delayMs > notableMs) late.push(Math.round(delayMs));
  }, everyMs).unref();
  setInterval(() => {
    lines.write(`${JSON.stringify({ atMs: Date.now(), count, late })}\n`);
    count = 0;
    late = [];
  }, linesEveryMs).unref();
}
