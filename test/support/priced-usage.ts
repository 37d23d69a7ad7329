import type { TokenUsage } from '../../src/domains/spans/index.ts';

/** Token counts. Missing counts are 0. */
export function tokens(given: Partial<TokenUsage>): TokenUsage {
  const { inputTokens = 0, outputTokens = 0 } = given;
  const none = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  return { ...none, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...given };
}
