import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FindingKind } from '../fuzz/findings.ts';
import { formatReport } from '../fuzz/format-report.ts';
import { runFuzz } from '../fuzz/run-fuzz.ts';
import { startFuzzStack } from '../fuzz/start-fuzz-stack.ts';

/** Smaller than those of `npm run fuzz`, so that half a minute holds more requests. */
const sizes = { textCharsMax: 100_000, elementsMax: 10_000, levelsMax: 2_000 };
/** Ten times what `npm run fuzz` allows: a machine that runs other tests beside this one is slow. */
const stallMsMax = 500;
const fixedSeed = 20_261;
const seeds = [fixedSeed, Math.floor(Math.random() * 2 ** 31)];
const durationMs = 12_000;
const requestsMin = 200;
const parallel = 4;
const timeoutMs = 300_000;

/** A short run of `npm run fuzz`: the seed that it prints repeats its values there. */
describe('with hostile requests of every operation', () => {
  let started: Awaited<ReturnType<typeof startFuzzStack>>;
  beforeEach(async () => {
    started = await startFuzzStack();
  });
  afterEach(() => started?.stop());

  it.each(seeds)(
    'nothing fails, restarts or stands still, and the workspace beside them has all it sent: seed %i',
    async (seed) => {
      const { stack, delays } = started;
      const options = { seed, durationMs, requestsMin, parallel, sizes, stallMsMax, confirmBudgetMs: 30_000 };
      const report = await runFuzz(stack, delays, { ...options, progress: () => undefined });
      console.log(formatReport(report, join(tmpdir(), `promptlane-fuzz-${seed}`)));
      expect(report.canary.readableMs.length).toBe(report.canary.sent);
      // Requests that were all refused alike would prove little.
      expect(report.requests).toBeGreaterThanOrEqual(requestsMin);
      const outcomes = new Set([...report.answers.values()].flatMap((of) => [...of.keys()]));
      expect([...outcomes]).toEqual(expect.arrayContaining(['2xx', '4xx']));
      const found = report.findings.all().map(({ kind, title }): [FindingKind, string] => [kind, title]);
      expect(found).toEqual([]);
    },
    timeoutMs,
  );
});
