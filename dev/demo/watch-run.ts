import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { DemoApi } from './demo-api.ts';

const interval = z.object({ mean: z.number(), ci95: z.tuple([z.number(), z.number()]) });

const runSchema = z.object({
  run_id: z.string(),
  status: z.string(),
  outcome: z.string().nullable(),
  finish_reason: z.string().nullable(),
  applied_version: z.number().nullable(),
  score: z.object({ n: z.number(), base: interval, best: interval, delta: interval }).nullable(),
  usage: z.object({ calls: z.number(), cost_usd: z.string() }),
  progress: z.object({ phase: z.string(), fraction: z.number(), best_val: z.number().nullable() }),
  best: z.object({ diff: z.string().nullable() }).nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});

export type DemoRun = z.infer<typeof runSchema>;

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);
const pollMs = 250;

/** Follows a run until it has ended. `show` gets a line whenever something has changed. */
export async function watchRun(api: DemoApi, path: string, show: (line: string) => void): Promise<DemoRun> {
  for (let shown = ''; ; ) {
    const run = runSchema.parse(await api.call('GET', path));
    const { progress, usage } = run;
    const best = progress.best_val === null ? '–' : progress.best_val.toFixed(3);
    const line = `${progress.phase.padEnd(10)} ${String(usage.calls).padStart(4)} calls  ${usage.cost_usd} USD  best score ${best}`;
    if (line !== shown) show(line);
    shown = line;
    if (ended.has(run.status)) return run;
    await delay(pollMs);
  }
}
