import { parseUsd } from '../../lib/money.ts';
import { type CandidateContent, promptTokensOf, type SearchConfig } from '../prompt-search/index.ts';
import { type CallPrices, type CallTokens, outputTokensMax } from './call-prices.ts';
import type { Place } from './split-rows.ts';

/** Calls that the parts of a run take. */
export interface CallSizes {
  val: number;
  holdout: number;
  minibatch: number;
  /** Calls for one candidate on one row: samples, each with its judges. */
  perRow: number;
}

const bytesPerToken = 4;
/** Reflection requests show rows, and their responses are prompts. */
const reflectionTokens: CallTokens = { inputTokens: 6_000, outputTokens: 1_000 };
const outputTokensMin = 16;
/** Rows whose lengths count. */
const measuredRowsMax = 50;

/** Returns the calls that a run needs at least: base and winner on their rows, and one proposal. */
export function leastCallsOf({ val, holdout, minibatch, perRow }: CallSizes): number {
  return (val + 2 * holdout + 2 * minibatch) * perRow + 1;
}

/** What a call uses, and what is reserved for it before it is sent, in the unit of a limit. */
interface Use {
  used: number;
  reserved: number;
}

/** A limit of a run, in calls, tokens or nano-USD, and what calls take of it. */
export interface LimitEstimate {
  name: 'max_calls' | 'max_tokens' | 'max_cost_usd';
  amount: number;
  task: Use;
  reflection: Use;
}

/** Returns the limits of a run, of those that calls use up. A cost without prices is not among them. */
export function estimateLimits(
  { algorithm, target, reflection, budget }: SearchConfig,
  given: CallsGiven,
): LimitEstimate[] {
  const task = usesOf(given.prices, target, given.task);
  const proposal = algorithm === 'few_shot' ? noUses : usesOf(given.prices, reflection, reflectionTokens);
  const once = { used: 1, reserved: 1 };
  const costMax = parseUsd(budget.maxCostUsd);
  return [
    ...(budget.maxCalls === null
      ? []
      : [{ name: 'max_calls', amount: budget.maxCalls, task: once, reflection: once } as const]),
    ...(budget.maxTokens === null
      ? []
      : [{ name: 'max_tokens', amount: budget.maxTokens, task: task.tokens, reflection: proposal.tokens } as const]),
    ...(costMax === undefined || task.cost === null || proposal.cost === null
      ? []
      : [{ name: 'max_cost_usd', amount: Number(costMax), task: task.cost, reflection: proposal.cost } as const]),
  ];
}

/** Returns what base and winner on their rows use of a limit at least. */
export function leastUseOf({ task }: LimitEstimate, { val, holdout, perRow }: CallSizes): number {
  return Math.ceil((val + 2 * holdout) * perRow * task.used);
}

/** Returns what a run with so many proposals uses of a limit, if each is run on all validation rows. */
export function useOf({ task, reflection }: LimitEstimate, sizes: CallSizes, proposals: number): number {
  const { val, holdout, minibatch, perRow } = sizes;
  const batches = (2 * minibatch * (proposals + 1) + val * (proposals + 1) + 2 * holdout) * perRow;
  return batches * task.used + (proposals + 1) * reflection.used;
}

/**
 * Returns how many proposals a limit allows, if every one takes as many calls as it may, and if none gets
 * beyond its batch. Of tokens and cost, at most half is kept for the holdout.
 */
export function estimateProposals(
  { name, amount, task, reflection }: LimitEstimate,
  { val, holdout, minibatch, perRow }: CallSizes,
): [number, number] {
  const keptMax = name === 'max_calls' ? Number.POSITIVE_INFINITY : amount / 2;
  const kept = Math.min(keptMax, 2 * holdout * perRow * task.reserved);
  const left = amount - kept - val * perRow * task.used;
  const proposals = (rows: number) => {
    const batch = rows * perRow * task.used;
    return left < reflection.reserved + batch ? 0 : Math.floor(left / (reflection.used + batch));
  };
  return [proposals(2 * minibatch + val), proposals(minibatch)];
}

interface CallsGiven {
  prices: CallPrices;
  /** What a call of the target uses, as {@link taskTokens} estimates it. */
  task: CallTokens;
}

const noUses = { tokens: { used: 0, reserved: 0 }, cost: { used: 0, reserved: 0 } };

function usesOf(prices: CallPrices, { model, params }: SearchConfig['target' | 'reflection'], tokens: CallTokens) {
  const reserved = { inputTokens: Math.ceil((tokens.inputTokens * 4) / 3), outputTokens: outputTokensMax(params) };
  const [used, most] = [prices.priceOf(model, tokens), prices.priceOf(model, reserved)];
  return {
    tokens: { used: tokens.inputTokens + tokens.outputTokens, reserved: reserved.inputTokens + reserved.outputTokens },
    cost: used === null || most === null ? null : { used: Number(used), reserved: Number(most) },
  };
}

/** Returns the models of judges that name one. Other judges use the model of the target. */
export function judgeModelsOf({ metrics }: SearchConfig): string[] {
  return metrics.flatMap(({ options }) => (typeof options?.model === 'string' ? [options.model] : []));
}

/** Returns the mean cost of a call for a row, which is of the target or of a judge. */
function meanCost(config: SearchConfig, { prices, task, sizes }: CallsGiven & { sizes: CallSizes }): bigint {
  const calls = sizes.perRow / config.target.samplesPerRow;
  const judges = judgeModelsOf(config);
  const models = [...Array<string>(calls - judges.length).fill(config.target.model), ...judges];
  return models.reduce((sum, model) => sum + (prices.priceOf(model, task) ?? 0n), 0n) / BigInt(calls);
}

/**
 * Estimates what a run costs in nano-USD: if it does least, and if it uses up its calls. Models without a price cost
 * nothing.
 */
export function estimateCost(
  config: SearchConfig,
  given: CallsGiven & { sizes: CallSizes; proposals: [number, number] },
): [bigint, bigint] {
  const { sizes, proposals, prices } = given;
  const task = meanCost(config, given);
  const isReflecting = config.algorithm !== 'few_shot';
  const reflection = (isReflecting && prices.priceOf(config.reflection.model, reflectionTokens)) || 0n;
  const fixed = (sizes.val + 2 * sizes.holdout) * sizes.perRow;
  const least = fixed + proposals[0] * 2 * sizes.minibatch * sizes.perRow;
  const most = config.budget.maxCalls ?? fixed + proposals[1] * (2 * sizes.minibatch + sizes.val) * sizes.perRow;
  const cost = (calls: number, reflections: number) => BigInt(calls) * task + BigInt(reflections) * reflection;
  const limit = parseUsd(config.budget.maxCostUsd);
  const within = (nanoUsd: bigint) => (limit !== undefined && nanoUsd > limit ? limit : nanoUsd);
  return [within(cost(least, proposals[0])), within(cost(Math.max(least, most), proposals[1]))];
}

/** Estimates what a call of the target uses, by the first rows. */
export function taskTokens(base: CandidateContent, all: readonly Pick<Place, 'bytes'>[]): CallTokens {
  const rows = all.slice(0, measuredRowsMax);
  const mean = (of: keyof Place['bytes']) =>
    rows.reduce((sum, { bytes }) => sum + bytes[of], 0) / Math.max(1, rows.length) / bytesPerToken;
  return {
    inputTokens: promptTokensOf(base) + Math.ceil(mean('inputs')),
    outputTokens: Math.max(outputTokensMin, Math.ceil(mean('expected'))),
  };
}
