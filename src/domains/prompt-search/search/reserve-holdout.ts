import { oneTurn, Pace } from '../../../lib/pace.ts';
import type { JudgeMetric } from '../metrics/metric.ts';
import { promptTokensOf } from './candidate-content.ts';
import { outputLimitOf } from './output-limits.ts';
import type { Row } from './ports.ts';
import { renderRow } from './render-row.ts';
import { judgeParams } from './score-row.ts';
import { callsPerRow, type SearchRun } from './search-run.ts';

interface Need {
  tokens: number;
  costNanoUsd: bigint | null;
}

const bytesPerToken = 4;
/** Tokens of an output whose length has no limit, for the request of its judge. */
const judgedTokensDefault = 1_024;
const sides = 2;

/**
 * Keeps what the final evaluation needs: base and winner on each row of the holdout. Calls are exact. Tokens
 * and cost are upper bounds, far above what calls use, so they take half of a limit at most: a search that
 * cannot start helps nobody.
 */
export async function reserveHoldout(run: SearchRun): Promise<void> {
  const { ports, config } = run;
  const perRow = sides * callsPerRow(run);
  let need: Need = { tokens: 0, costNanoUsd: 0n };
  const pace = new Pace(oneTurn);
  for (const row of run.rows.holdout) {
    for (const each of await estimateRow(run, row, pace)) need = sum(need, times(each, config.target.samplesPerRow));
  }
  const left = ports.remaining('holdout');
  const cost = need.costNanoUsd;
  const costMax = left.costNanoUsd === null ? null : left.costNanoUsd / 2n;
  ports.reserveHoldout({
    calls: run.rows.holdout.length * perRow,
    tokens: Math.min(need.tokens, Math.floor(left.tokens / 2)),
    costNanoUsd: cost !== null && costMax !== null && cost > costMax ? costMax : cost,
  });
}

/** Returns the upper bounds of all calls for one row: those of the base, of a winner and of their judges. */
async function estimateRow(run: SearchRun, row: Row, pace: Pace): Promise<Need[]> {
  const { ports, config, rules } = run;
  const { model, params } = config.target;
  const rendered = await renderRow(ports, rules.base, row);
  if ('problem' in rendered) return [];
  const { messages } = rendered;
  const growth = Math.max(0, rules.promptTokensMax - promptTokensOf(rules.base));
  const longer = { messages: [...messages, { role: 'user', content: '' }], addedBytes: growth * bytesPerToken };
  const tasks = [{ messages }, longer].map((each) => ports.estimate({ model, params, ...each }));
  const judges: Need[] = [];
  for (const { metric } of run.metrics.parts) {
    await pace.rest();
    if (metric.kind === 'judge') judges.push(estimateJudge(run, metric, row));
  }
  return [...tasks, ...judges, ...judges];
}

function estimateJudge({ ports, config }: SearchRun, metric: JudgeMetric, row: Row): Need {
  const addedBytes = (outputLimitOf(config.target.params) ?? judgedTokensDefault) * bytesPerToken;
  const messages = metric.ask({ output: '', expected: row.expected, inputs: row.inputs, note: row.note });
  return ports.estimate({ model: metric.model ?? config.target.model, params: judgeParams, messages, addedBytes });
}

const sum = (a: Need, b: Need): Need => ({
  tokens: a.tokens + b.tokens,
  costNanoUsd: a.costNanoUsd === null || b.costNanoUsd === null ? null : a.costNanoUsd + b.costNanoUsd,
});

const times = ({ tokens, costNanoUsd }: Need, count: number): Need => ({
  tokens: tokens * count,
  costNanoUsd: costNanoUsd === null ? null : costNanoUsd * BigInt(count),
});
