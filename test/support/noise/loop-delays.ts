import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { percentile } from './statistics.ts';

/** The file that API and worker load, so that {@link loopDelays} can read the delays of their event loops. */
export const loopDelayPreload = fileURLToPath(new URL('./loop-delay-preload.mjs', import.meta.url));

export interface LoopDelay {
  p99Ms: number;
  maxMs: number;
}

const line = z.object({ atMs: z.number(), count: z.number(), late: z.array(z.number()) });

/** Returns the delay of the event loop of a process since `sinceMs`, in milliseconds. Delays below 20 ms count as 0. */
export function loopDelayOf(directory: string, name: 'api' | 'worker', sinceMs: number): LoopDelay {
  const file = `${directory}/${name}.jsonl`;
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  const samples = lines.flatMap((text) => {
    const { atMs, count, late } = line.parse(JSON.parse(text));
    if (atMs < sinceMs) return [];
    return [...late, ...Array.from({ length: Math.max(0, count - late.length) }, () => 0)];
  });
  return { p99Ms: percentile(samples, 0.99), maxMs: samples.reduce((most, each) => Math.max(most, each), 0) };
}
