import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatReport } from './format-report.ts';
import { type CommandLine, help, readOptions } from './options.ts';
import { runFuzz } from './run-fuzz.ts';
import { startFuzzStack } from './start-fuzz-stack.ts';

const stallMsMax = 50;
const sizes = { textCharsMax: 4_000_000, elementsMax: 200_000, levelsMax: 20_000 };
/** Share of the time of the run for sending suspects of stalls again. The minimum is one minute. */
const confirmShare = 0.5;

const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(signal)));
});
interrupted.catch(() => undefined);

process.exitCode = await main();
process.exit();

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options !== undefined) return await run(options);
    console.log(help);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

async function run({ minutes, seed, parallel }: CommandLine): Promise<number> {
  console.error(`seed ${seed}; starting engines, API and worker …`);
  const { stack, delays, stop } = await startFuzzStack();
  try {
    const durationMs = minutes * 60_000;
    const confirmBudgetMs = Math.max(60_000, durationMs * confirmShare);
    const report = await Promise.race([
      runFuzz(stack, delays, {
        seed,
        durationMs,
        requestsMin: 0,
        parallel,
        sizes,
        stallMsMax,
        confirmBudgetMs,
        progress,
      }),
      interrupted,
    ]);
    console.log(formatReport(report, join(tmpdir(), `promptlane-fuzz-${seed}`)));
    console.log(`seed ${seed}`);
    return report.findings.all().length === 0 ? 0 : 1;
  } finally {
    await stop();
  }
}

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
  else console.error(line);
}
