import type { TokenUsage } from '../spans/index.ts';

/** A price per token, exactly: every price of the table and every override is a whole number of atto-USD (1e-18) per million. */
export interface Price {
  attoUsdPerMillion: bigint;
  /** The same as a double for quick sums; NaN where that is not a whole number. */
  femtoUsdPerToken: number;
}

/** A price that may depend on how long the whole input is. */
export interface Rate {
  base: Price;
  /** By `aboveInputTokens`; the last that the input exceeds holds for all tokens, not just those above. */
  tiers: readonly { aboveInputTokens: number; price: Price }[];
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

const attoPerMillionPerFemto = 1_000_000_000n;
const attoPerMillionPerNano = 1_000_000_000_000_000n;
const femtoPerNano = 1_000_000;

export function priceOf(attoUsdPerMillion: bigint): Price {
  const isWhole = attoUsdPerMillion % attoPerMillionPerFemto === 0n;
  return {
    attoUsdPerMillion,
    femtoUsdPerToken: isWhole ? Number(attoUsdPerMillion / attoPerMillionPerFemto) : Number.NaN,
  };
}

/** Nano-USD of a call, rounded half up. Parts that exceed their whole, which some clients report, count up to it. */
export function costNanoUsd(card: RateCard, usage: TokenUsage): bigint {
  const { inputTokens, outputTokens } = usage;
  const cacheRead = Math.min(usage.cacheReadTokens, inputTokens);
  const cacheWrite = Math.min(usage.cacheWriteTokens, inputTokens - cacheRead);
  const reasoning = Math.min(usage.reasoningTokens, outputTokens);
  const [plainInput, plainOutput] = [inputTokens - cacheRead - cacheWrite, outputTokens - reasoning];
  // Whole numbers up to 2^53 add up exactly as doubles, which is most calls and many times as fast.
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

/** In millionths. */
function attoUsd(rate: Rate, tokens: number, inputTokens: number): bigint {
  return BigInt(tokens) * priceAt(rate, inputTokens).attoUsdPerMillion;
}

function priceAt(rate: Rate, inputTokens: number): Price {
  let price = rate.base;
  for (const tier of rate.tiers) if (inputTokens > tier.aboveInputTokens) price = tier.price;
  return price;
}
