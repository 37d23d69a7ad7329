import type { TokenUsage } from '../spans/index.ts';

/**
 * An exact price per token. Every price of the table and every override is a whole number of
 * atto-USD (1e-18) per million tokens.
 */
export interface Price {
  attoUsdPerMillion: bigint;
  /**
   * The same price in femto-USD (1e-15) as a double for fast sums; NaN when it is not a whole
   * number.
   */
  femtoUsdPerToken: number;
}

/** A price that may depend on the length of the whole input. */
export interface Rate {
  base: Price;
  /**
   * Sorted by `aboveInputTokens`. The last tier that the input exceeds applies to all tokens, not
   * only to those above it.
   */
  tiers: readonly { aboveInputTokens: number; price: Price }[];
}

/**
 * Prices of a call. Tokens without their own price have the price of the input or output that they
 * belong to.
 */
export interface RateCard {
  input: Rate;
  output: Rate;
  cacheRead: Rate;
  cacheWrite: Rate;
  reasoning: Rate;
  /** Nano-USD for the call itself, independent of its tokens. */
  perCallNanoUsd: bigint;
}

const attoPerMillionPerFemto = 1_000_000_000n;
const attoPerMillionPerNano = 1_000_000_000_000_000n;
const femtoPerNano = 1_000_000;

/** Returns a price in both units, from atto-USD per million tokens. */
export function priceOf(attoUsdPerMillion: bigint): Price {
  const isWhole = attoUsdPerMillion % attoPerMillionPerFemto === 0n;
  return {
    attoUsdPerMillion,
    femtoUsdPerToken: isWhole ? Number(attoUsdPerMillion / attoPerMillionPerFemto) : Number.NaN,
  };
}

/**
 * Returns the cost of a call in nano-USD, rounded half up. Some clients report more cached or
 * reasoning tokens than input or output tokens; the surplus is not counted.
 */
export function costNanoUsd(card: RateCard, usage: TokenUsage): bigint {
  const { inputTokens, outputTokens } = usage;
  const cacheRead = Math.min(usage.cacheReadTokens, inputTokens);
  const cacheWrite = Math.min(usage.cacheWriteTokens, inputTokens - cacheRead);
  const reasoning = Math.min(usage.reasoningTokens, outputTokens);
  const [plainInput, plainOutput] = [inputTokens - cacheRead - cacheWrite, outputTokens - reasoning];
  // Doubles add whole numbers up to 2^53 exactly. That covers most calls and is many times faster
  // than bigint.
  const femto =
    femtoUsd(card.input, plainInput, inputTokens) +
    femtoUsd(card.cacheRead, cacheRead, inputTokens) +
    femtoUsd(card.cacheWrite, cacheWrite, inputTokens) +
    femtoUsd(card.output, plainOutput, inputTokens) +
    femtoUsd(card.reasoning, reasoning, inputTokens);
  if (femto <= Number.MAX_SAFE_INTEGER) return card.perCallNanoUsd + BigInt(nanoFromFemto(femto));
  const atto =
    attoUsd(card.input, plainInput, inputTokens) +
    attoUsd(card.cacheRead, cacheRead, inputTokens) +
    attoUsd(card.cacheWrite, cacheWrite, inputTokens) +
    attoUsd(card.output, plainOutput, inputTokens) +
    attoUsd(card.reasoning, reasoning, inputTokens);
  return card.perCallNanoUsd + (atto + attoPerMillionPerNano / 2n) / attoPerMillionPerNano;
}

function nanoFromFemto(femto: number): number {
  const rest = femto % femtoPerNano;
  return (femto - rest) / femtoPerNano + (rest * 2 >= femtoPerNano ? 1 : 0);
}

function femtoUsd(rate: Rate, tokens: number, inputTokens: number): number {
  return tokens === 0 ? 0 : tokens * priceAt(rate, inputTokens).femtoUsdPerToken;
}

/** Returns the cost in millionths of an atto-USD. */
function attoUsd(rate: Rate, tokens: number, inputTokens: number): bigint {
  return BigInt(tokens) * priceAt(rate, inputTokens).attoUsdPerMillion;
}

function priceAt(rate: Rate, inputTokens: number): Price {
  let price = rate.base;
  for (const tier of rate.tiers) if (inputTokens > tier.aboveInputTokens) price = tier.price;
  return price;
}
