import type { TokenUsage } from '../executions/index.ts';

/**
 * A price per token that may depend on how long the whole input is. Prices are atto-USD (1e-18) per million tokens: every price of
 * the table and every override is a whole number of them, so costs are exact until they are rounded once.
 */
export interface Rate {
  base: bigint;
  /** By `aboveInputTokens`; the last that the input exceeds holds for all tokens, not just those above. */
  tiers: readonly { aboveInputTokens: number; price: bigint }[];
}

/** What a call costs. A part that has no price of its own has that of the input or the output it belongs to. */
export interface RateCard {
  input: Rate;
  output: Rate;
  cacheRead: Rate;
  cacheWrite: Rate;
  reasoning: Rate;
  /** Nano-USD for the call itself, whatever its tokens. */
  perCallNanoUsd: bigint;
}

export const free: Rate = { base: 0n, tiers: [] };

/** Atto-USD per million tokens is this many times nano-USD per token. */
const attoPerMillionPerNano = 1_000_000_000_000_000n;

/** Nano-USD of a call, rounded half up. Parts that exceed their whole, which some clients report, count up to it. */
export function costNanoUsd(card: RateCard, usage: TokenUsage): bigint {
  const { inputTokens, outputTokens } = usage;
  const cacheRead = Math.min(usage.cacheReadTokens, inputTokens);
  const cacheWrite = Math.min(usage.cacheWriteTokens, inputTokens - cacheRead);
  const reasoning = Math.min(usage.reasoningTokens, outputTokens);
  const sum =
    part(card.input, inputTokens - cacheRead - cacheWrite, inputTokens) +
    part(card.cacheRead, cacheRead, inputTokens) +
    part(card.cacheWrite, cacheWrite, inputTokens) +
    part(card.output, outputTokens - reasoning, inputTokens) +
    part(card.reasoning, reasoning, inputTokens);
  return card.perCallNanoUsd + (sum + attoPerMillionPerNano / 2n) / attoPerMillionPerNano;
}

function part(rate: Rate, tokens: number, inputTokens: number): bigint {
  if (tokens === 0) return 0n;
  let price = rate.base;
  for (const tier of rate.tiers) if (inputTokens > tier.aboveInputTokens) price = tier.price;
  return price * BigInt(tokens);
}
