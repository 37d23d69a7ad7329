import { hash } from 'node:crypto';
import { InvalidError } from '../../lib/errors.ts';
import { formatUsd } from '../../lib/money.ts';
import {
  type CandidateContent,
  needsOf,
  type Row,
  type SearchConfig,
  type Split,
  templatesOf,
  validationRowsFor,
} from '../prompt-search/index.ts';
import type { CallPrices } from './call-prices.ts';
import {
  type CallSizes,
  estimateCost,
  estimateLimits,
  estimateProposals,
  type LimitEstimate,
  leastCallsOf,
  leastUseOf,
  taskTokens,
  useOf,
} from './estimate-run.ts';
import { requirePrices, unpricedModels, unpricedWarning } from './model-prices.ts';
import { callsMax, type RunPlan, type RunWarning } from './run.ts';
import { chooseSplits, type Place, rowLimits, type SplitSizes, splitRows } from './split-rows.ts';

export interface PlannedRun {
  rows: Row[];
  plan: RunPlan;
  warnings: RunWarning[];
  holdoutId: string | null;
  /** What the run may cost: its limit, otherwise an estimate; 0 if the models have no price. */
  costNanoUsdMax: bigint;
}

export interface PlanInput {
  base: CandidateContent;
  rows: readonly Place[];
  dropped: number;
  /** Rows of the holdout that were left out before, as an earlier run with these rows had no room for them. */
  unused?: number;
  holdoutFraction: number;
  prices: CallPrices;
}

/** The holdout uses at most this share of the calls, so that the search has the others. */
const holdoutCallsShare = 1 / 2;
const proposalsWanted = 3;
const proposalsRecommended = 5;
const growthMax = 50;

/**
 * Plans a run: which row is used for what, what it may cost, and what its owner should know before.
 * @throws InvalidError `insufficient_data`, `budget_too_small`, `price_unknown`,
 * `template_has_no_mutable_text`
 */
export function planRun(config: SearchConfig, input: PlanInput): PlannedRun {
  if (templatesOf(input.base).every(({ template }) => !hasText(template))) throw noText();
  requirePrices(config, input.prices);
  const split = splitRows(input.rows, splitSizesOf(config, input, config.budget.maxCalls ?? callsMax));
  const { rows } = split;
  const unused = split.unused + (input.unused ?? 0);
  const sizes = callSizesOf(
    config,
    rows.map(({ split }) => split),
  );
  const { val, holdout } = sizes;
  const train = rows.length - val - holdout;
  if (train === 0 || val === 0) throw noRows(train === 0 ? 'train' : 'val');
  requireCalls(config, input, sizes);
  const given = { prices: input.prices, task: taskTokens(input.base, input.rows) };
  const limits = estimateLimits(config, given);
  for (const limit of limits) requireUse(limit, sizes);
  const proposals = proposalsWithin(config, limits, sizes);
  const cost = estimateCost(config, { ...given, sizes, proposals });
  const unpriced = unpricedModels(config, input.prices);
  return {
    rows,
    plan: {
      rows: { train, val, holdout, dropped: input.dropped, unused },
      estimated_proposals: proposals,
      estimated_cost_usd: unpriced.length > 0 ? null : [formatUsd(cost[0]), formatUsd(cost[1])],
      reserved_for_holdout_calls: 2 * holdout * sizes.perRow,
    },
    warnings: [
      ...limits.flatMap((limit) => budgetWarnings(limit, sizes)),
      ...holdoutWarnings(rows.length + unused, holdout),
      ...(unpriced.length > 0 ? [unpricedWarning(unpriced)] : []),
    ],
    holdoutId: holdout === 0 ? null : holdoutIdOf(rows),
    costNanoUsdMax: cost[1],
  };
}

function splitSizesOf(config: SearchConfig, { holdoutFraction }: PlanInput, maxCalls: number): SplitSizes {
  const perRow = callsPerRowOf(config);
  const candidates = maxCalls / perRow;
  return {
    holdoutFraction,
    holdoutMax: Math.max(rowLimits.holdoutMin, Math.floor((candidates * holdoutCallsShare) / 2)),
    valMax: config.search.valSize ?? validationRowsFor(candidates),
  };
}

const callsPerRowOf = ({ target, metrics }: SearchConfig) => target.samplesPerRow * (1 + needsOf(metrics).judges);

function callSizesOf(config: SearchConfig, splits: readonly Split[]): CallSizes {
  const count = (name: Split) => splits.filter((split) => split === name).length;
  const { minibatchSize: minibatch } = config.search;
  return { val: count('val'), holdout: count('holdout'), minibatch, perRow: callsPerRowOf(config) };
}

function requireCalls(config: SearchConfig, input: PlanInput, sizes: CallSizes): void {
  const maxCalls = config.budget.maxCalls ?? callsMax;
  if (maxCalls >= leastCallsOf(sizes)) return;
  const minimum = leastLimit(config, input, maxCalls);
  const { val, holdout, minibatch } = sizes;
  throw new InvalidError(
    'budget_too_small',
    `budget.max_calls is ${maxCalls}, and the run needs at least ${minimum}: ${val} validation rows, twice ${holdout} rows of ` +
      `the holdout, twice ${minibatch} rows of a batch, and a proposal`,
    {
      errors: [{ path: 'budget.max_calls', code: 'too_small', message: `must be at least ${minimum}` }],
      extra: { minimum },
    },
  );
}

/** Returns the smallest limit of calls that is enough. More calls have more rows, so it grows in steps. */
function leastLimit(config: SearchConfig, input: PlanInput, from: number): number {
  let limit = from;
  for (let step = 0; step < growthMax; step++) {
    const { splits } = chooseSplits(input.rows, splitSizesOf(config, input, limit));
    const needed = leastCallsOf(callSizesOf(config, [...splits.values()]));
    if (needed <= limit) break;
    limit = needed;
  }
  return limit;
}

/** Returns whether a template has text besides its tags. */
function hasText(template: string): boolean {
  let rest = template;
  for (;;) {
    const start = rest.search(/\{[{%]/);
    const text = start < 0 ? rest : rest.slice(0, start);
    if (text.trim() !== '') return true;
    const end = start < 0 ? -1 : rest.indexOf(rest[start + 1] === '%' ? '%}' : '}}', start + 2);
    if (end < 0) return false;
    rest = rest.slice(end + 2).replace(/^\}/, '');
  }
}

function proposalsWithin(
  { search }: SearchConfig,
  limits: readonly LimitEstimate[],
  sizes: CallSizes,
): [number, number] {
  const each = limits.map((limit) => estimateProposals(limit, sizes));
  const [least, most] = [each.map(([fewest]) => fewest), each.map(([, largest]) => largest)];
  return [Math.min(search.maxIterations, ...least), Math.min(search.maxIterations, ...most)];
}

/** In which steps a limit is recommended, and how it is written. */
const units = {
  max_calls: { step: 10, write: String },
  max_tokens: { step: 1_000, write: String },
  max_cost_usd: { step: 10_000_000, write: (nanoUsd: number) => formatUsd(BigInt(nanoUsd)) },
} as const;

/** @throws InvalidError `budget_too_small` if base and winner alone use more on their rows */
function requireUse(limit: LimitEstimate, sizes: CallSizes): void {
  const least = leastUseOf(limit, sizes);
  if (limit.amount >= least) return;
  const { name, amount } = limit;
  const { write } = units[name];
  const minimum = name === 'max_cost_usd' ? write(least) : least;
  throw new InvalidError(
    'budget_too_small',
    `budget.${name} is ${write(amount)}, and base and winner need about ${write(least)} for ${sizes.val} validation rows and twice ` +
      `${sizes.holdout} rows of the holdout`,
    {
      errors: [{ path: `budget.${name}`, code: 'too_small', message: `must be at least ${write(least)}` }],
      extra: { minimum },
    },
  );
}

function budgetWarnings(limit: LimitEstimate, sizes: CallSizes): RunWarning[] {
  const [least] = estimateProposals(limit, sizes);
  if (least >= proposalsWanted) return [];
  const { step, write } = units[limit.name];
  const enough = Math.max(useOf(limit, sizes, proposalsRecommended), 2 * limit.reflection.reserved);
  const recommended = write(Math.ceil(enough / step) * step);
  const amount = write(limit.amount);
  const message = `${limit.name}=${amount} supports about ${least} proposals that are fully evaluated; ${recommended} is recommended.`;
  return [{ code: 'low_budget', message }];
}

function holdoutWarnings(rows: number, holdout: number): RunWarning[] {
  const { decidingRows } = rowLimits;
  if (holdout >= decidingRows) return [];
  const message =
    holdout === 0
      ? `No row is kept for a final comparison, so the outcome can be inconclusive at most. It needs ${rowLimits.holdoutFromRows} rows or more.`
      : `The holdout has ${holdout} of ${rows} rows. With fewer than ${decidingRows} the outcome can be inconclusive at most. ` +
        'More rows, more calls or a larger holdout_fraction change this.';
  return [{ code: holdout === 0 ? 'no_holdout' : 'small_holdout', message }];
}

function holdoutIdOf(rows: readonly Row[]): string {
  const keys = rows.flatMap(({ key, split }) => (split === 'holdout' ? [key] : []));
  return hash('sha256', keys.sort().join(' ')).slice(0, 32);
}

function noRows(split: 'train' | 'val'): InvalidError {
  const use = split === 'train' ? 'to learn from' : 'to choose candidates with';
  return new InvalidError('insufficient_data', `No row has the split ${split}, so there is none ${use}`);
}

function noText(): InvalidError {
  return new InvalidError('template_has_no_mutable_text', 'The template has only tags and no text that could change');
}
