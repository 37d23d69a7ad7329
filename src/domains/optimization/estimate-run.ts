import { type CandidateContent, promptTokensOf, type Row, type SearchConfig } from '../prompt-search/index.ts';
import type { CallPrices, CallTokens } from './call-prices.ts';

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
/** Rows whose lengths are measured. */
const measuredRowsMax = 50;

/** Returns the calls that a run needs at least: base and winner on their rows, and one proposal. */
export function leastCallsOf({ val, holdout, minibatch, perRow }: CallSizes): number {
  return (val + 2 * holdout + 2 * minibatch) * perRow + 1;
}

/**
 * Returns how many proposals a limit of calls allows, if every one takes as many calls as it may, and
 * if none gets beyond its batch.
 */
export function estimateProposals(
  { budget, search }: SearchConfig,
  { val, holdout, minibatch, perRow }: CallSizes,
): [number, number] {
  const left = (budget.maxCalls ?? Number.POSITIVE_INFINITY) - (val + 2 * holdout) * perRow;
  const proposals = (rows: number) => {
    const affordable = Math.floor(left / (1 + rows * perRow));
    return Math.max(0, Math.min(search.maxIterations, affordable));
  };
  return [proposals(2 * minibatch + val), proposals(minibatch)];
}

/**
 * Estimates what a run costs in nano-USD: if it does least, and if it uses up its calls. Returns null if
 * a model has no price.
 */
export function estimateCost(
  config: SearchConfig,
  given: {
    prices: CallPrices;
    base: CandidateContent;
    rows: readonly Row[];
    sizes: CallSizes;
    proposals: [number, number];
  },
): [bigint, bigint] | null {
  const { sizes, proposals, prices } = given;
  const task = prices.priceOf(config.target.model, taskTokens(given.base, given.rows));
  const reflection = prices.priceOf(config.reflection.model, reflectionTokens);
  if (task === null || reflection === null) return null;
  const fixed = (sizes.val + 2 * sizes.holdout) * sizes.perRow;
  const least = fixed + proposals[0] * 2 * sizes.minibatch * sizes.perRow;
  const most = config.budget.maxCalls ?? fixed + proposals[1] * (2 * sizes.minibatch + sizes.val) * sizes.perRow;
  const cost = (calls: number, reflections: number) => BigInt(calls) * task + BigInt(reflections) * reflection;
  return [cost(least, proposals[0]), cost(Math.max(least, most), proposals[1])];
}

function taskTokens(base: CandidateContent, all: readonly Row[]): CallTokens {
  const rows = all.slice(0, measuredRowsMax);
  const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value ?? ''));
  const mean = (of: (row: Row) => unknown) =>
    rows.reduce((sum, row) => sum + bytes(of(row)), 0) / Math.max(1, rows.length) / bytesPerToken;
  return {
    inputTokens: promptTokensOf(base) + Math.ceil(mean(({ inputs }) => inputs)),
    outputTokens: Math.max(outputTokensMin, Math.ceil(mean(({ expected }) => expected))),
  };
}
