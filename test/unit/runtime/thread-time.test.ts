import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { processCpuMs } from '../../../src/lib/time.ts';
import { noteThreadBegins, threadCpuMs } from '../../../src/runtime/thread-time.ts';
import { until } from '../../support/until.ts';

/** Uses the processor for this time. */
function work(ms: number): void {
  const end = processCpuMs() + ms;
  while (processCpuMs() < end);
}

const begun = new Int32Array(1);
noteThreadBegins(begun);
const [thread = 0] = begun;

test('the CPU time of a thread grows with its work', () => {
  const before = threadCpuMs(thread);
  work(100);
  expect(threadCpuMs(thread) - before).toBeGreaterThan(20);
});

test.runIf(process.platform === 'linux')('the CPU time of a thread does not contain that of others', async () => {
  const [own, all] = [threadCpuMs(thread), processCpuMs()];
  const other = new Worker('for (;;);', { eval: true });
  try {
    await until('another thread has worked', 10_000, async () => processCpuMs() - all > 500);
    expect(threadCpuMs(thread) - own).toBeLessThan(250);
  } finally {
    await other.terminate();
  }
});

test('a thread that the kernel does not know counts as all threads together', () => {
  expect(Math.abs(threadCpuMs(-1) - processCpuMs())).toBeLessThan(50);
});
