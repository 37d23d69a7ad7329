import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { connect, type DemoApi, DemoFailed } from './demo-api.ts';
import { createPrompt, demoModel, recordExecutions } from './record-executions.ts';
import { serveModel } from './simulated-model.ts';
import { type DemoRun, watchRun } from './watch-run.ts';

const callsMax = 500;

/** Optimizes a prompt against a simulated model, and prints what happens. Resolves with the exit code. */
export async function demoOptimize(env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const api = connect(env);
    const model = await serveModel(api.model).catch((error: NodeJS.ErrnoException) => {
      throw new DemoFailed(`Port ${api.model.port} cannot be used for the simulated model (${error.code}).`);
    });
    try {
      const isImproved = await demonstrate(api);
      say(
        `\nThe simulated model answered ${model.answered()} requests. Nothing was billed: the costs are what ${demoModel} would cost.`,
      );
      return isImproved ? 0 : 1;
    } finally {
      await model.close();
    }
  } catch (error) {
    if (!(error instanceof DemoFailed)) throw error;
    console.error(`✗ ${error.message}`);
    return 1;
  }
}

async function demonstrate(api: DemoApi): Promise<boolean> {
  const promptId = await createPrompt(api);
  say(`✓ prompt ${promptId}, version 1`);
  const { count, right } = await recordExecutions(api, promptId);
  say(`✓ ${count} executions with feedback: ${right} outputs rated well, ${count - right} corrected`);
  const created = await api.call('POST', `/prompts/${promptId}/optimize`, {
    dataset: { source: 'executions' },
    metrics: [{ type: 'exact_match' }],
    target: { params: { temperature: 0, max_tokens: 20 } },
    reflection: { params: { temperature: 0, max_tokens: 1_000 } },
    budget: { max_calls: callsMax },
    ...{ seed: 42, apply: 'if_improved' },
  });
  const { run_id: runId, plan } = startedSchema.parse(created);
  const { train, val, holdout } = plan.rows;
  say(
    `✓ run ${runId}: ${train} rows to learn from, ${val} to select by, ${holdout} held out, at most ${callsMax} calls\n`,
  );
  const path = `/prompts/${promptId}/optimization-runs/${runId}`;
  const run = await watchRun(api, path, showProgress);
  if (process.stdout.isTTY) say('');
  await tellResult(api, run, { promptId, path });
  return run.outcome === 'improved';
}

const startedSchema = z.object({
  run_id: z.string(),
  plan: z.object({ rows: z.object({ train: z.number(), val: z.number(), holdout: z.number() }) }),
});

async function tellResult(api: DemoApi, run: DemoRun, at: { promptId: string; path: string }): Promise<void> {
  say(`\n${run.outcome ?? run.status} (${run.finish_reason})${run.error === null ? '' : `: ${run.error.message}`}\n`);
  if (run.score !== null) {
    const { n, base, best, delta } = run.score;
    say(`On ${n} rows that the search never saw, mean and 95 % confidence interval:`);
    for (const [name, { mean, ci95 }] of Object.entries({ before: base, after: best, difference: delta })) {
      say(`  ${name.padEnd(10)} ${mean.toFixed(3)}  [${ci95[0].toFixed(3)}, ${ci95[1].toFixed(3)}]`);
    }
  }
  if (run.best?.diff) say(`\n${colored(run.best.diff)}\n`);
  const report = join(api.dataDir, 'optimization-report.html');
  writeFileSync(report, await api.callText(`${at.path}/report`));
  say(`Report: ${report}`);
  if (run.applied_version === null) return;
  say(`Version ${run.applied_version}:`);
  say(
    `curl -s '${api.projectUrl}/prompts/${at.promptId}/versions/${run.applied_version}' -H 'X-API-Key: ${api.apiKey}'`,
  );
}

/** In a terminal, progress stays in one line. */
function showProgress(line: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${line}`);
  else say(line);
}

const colors: Readonly<Record<string, string>> = { '+': '\u001b[32m', '-': '\u001b[31m' };

function colored(diff: string): string {
  if (!process.stdout.isTTY) return diff;
  return diff
    .split('\n')
    .map((line) => `${colors[line[0] ?? ''] ?? ''}${line}\u001b[0m`)
    .join('\n');
}

const say = (line: string) => console.log(line);
