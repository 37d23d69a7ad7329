/** Token counts. The input count includes cached tokens, the output count includes reasoning. */
export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  totalTokens: number;
}

export const usageParts = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'totalTokens',
] as const;

/** Returns counts of zero. */
export function noUsage(): TokenUsage {
  return {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    totalTokens: 0,
  };
}

/** Converts counts in the order of the columns. An empty list means a span without usage: null. */
export function toUsage(counts: readonly number[]): TokenUsage | null {
  const [input, output = 0, cacheRead = 0, cacheWrite = 0, reasoning = 0, total = 0] = counts;
  if (input === undefined) return null;
  return {
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
    totalTokens: total,
  };
}
