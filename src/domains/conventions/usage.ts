import type { AnyValue } from '../../otlp/span.ts';
import type { TokenUsage } from '../spans/index.ts';
import { attribute, attributes, field, first, type Reader, type Reading, type Row } from './candidates.ts';
import { type LangfusePart, langfuseUsage } from './langfuse-usage.ts';
import { count, member } from './read-value.ts';

export const inputTokens = field('input_tokens', [
  langfuse('input'),
  ...attributes(
    [
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.prompt_tokens',
      'llm.token_count.prompt',
      'ai.usage.inputTokens',
      'ai.usage.promptTokens',
      'llm.usage.prompt_tokens',
      'ai.usage.tokens',
    ],
    count,
  ),
  attribute('mlflow.chat.tokenUsage', within('input_tokens')),
  attribute('genkit:output', within('usage', 'inputTokens')),
]);

export const outputTokens = field('output_tokens', [
  langfuse('output'),
  ...attributes(
    [
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens',
      'llm.token_count.completion',
      'ai.usage.outputTokens',
      'ai.usage.completionTokens',
      'llm.usage.completion_tokens',
    ],
    count,
  ),
  attribute('mlflow.chat.tokenUsage', within('output_tokens')),
  attribute('genkit:output', within('usage', 'outputTokens')),
]);

export const totalTokens = field('total_tokens', [
  langfuse('total'),
  ...attributes(
    ['gen_ai.usage.total_tokens', 'llm.token_count.total', 'llm.usage.total_tokens', 'ai.usage.totalTokens'],
    count,
  ),
  attribute('mlflow.chat.tokenUsage', within('total_tokens')),
  attribute('genkit:output', within('usage', 'totalTokens')),
]);

export const cacheReadTokens = field('cache_read_tokens', [
  langfuse('cacheRead'),
  ...attributes(
    [
      'gen_ai.usage.cache_read.input_tokens',
      'gen_ai.usage.cache_read_input_tokens',
      'llm.token_count.prompt_details.cache_read',
      'ai.usage.inputTokenDetails.cacheReadTokens',
      'ai.usage.cachedInputTokens',
      'gen_ai.usage.details.cache_read_tokens',
    ],
    count,
  ),
  attribute('mlflow.chat.tokenUsage', within('cache_read_input_tokens')),
  attribute('gen_ai.usage.input_token_details', within('cache_read')),
  attribute('gcp.vertex.agent.llm_response', within('usageMetadata', 'cachedContentTokenCount')),
  attribute('gcp.vertex.agent.llm_response', within('usage_metadata', 'cached_content_token_count')),
  attribute('genkit:output', within('usage', 'cachedContentTokens')),
]);

export const cacheWriteTokens = field('cache_write_tokens', [
  langfuse('cacheWrite'),
  ...attributes(
    [
      'gen_ai.usage.cache_write.input_tokens',
      'gen_ai.usage.cache_creation.input_tokens',
      'gen_ai.usage.cache_creation_input_tokens',
      'llm.token_count.prompt_details.cache_write',
      'ai.usage.inputTokenDetails.cacheWriteTokens',
      'gen_ai.usage.cache_write_input_tokens',
      'gen_ai.usage.details.cache_write_tokens',
    ],
    count,
  ),
  attribute('ai.response.providerMetadata', within('anthropic', 'usage', 'cache_creation_input_tokens')),
  attribute('mlflow.chat.tokenUsage', within('cache_creation_input_tokens')),
]);

export const reasoningTokens = field('reasoning_tokens', [
  langfuse('reasoning'),
  ...attributes(
    [
      'gen_ai.usage.reasoning.output_tokens',
      'gen_ai.usage.reasoning_tokens',
      'llm.token_count.completion_details.reasoning',
      'ai.usage.outputTokenDetails.reasoningTokens',
      'ai.usage.reasoningTokens',
      'llm.usage.reasoning_tokens',
      'gen_ai.usage.details.reasoning_tokens',
      'gen_ai.usage.experimental.reasoning_tokens',
    ],
    count,
  ),
  attribute('gen_ai.usage.output_token_details', within('reasoning')),
  attribute('gcp.vertex.agent.llm_response', within('usageMetadata', 'thoughtsTokenCount')),
  attribute('gcp.vertex.agent.llm_response', within('usage_metadata', 'thoughts_token_count')),
  attribute('genkit:output', within('usage', 'thoughtsTokens')),
]);

/**
 * Returns the tokens that a span reports, or null when it reports none. A missing total is input
 * plus output.
 */
export function readUsage(reading: Reading): TokenUsage | null {
  const input = first(reading, inputTokens);
  const output = first(reading, outputTokens);
  const total = first(reading, totalTokens);
  const cacheRead = first(reading, cacheReadTokens);
  const cacheWrite = first(reading, cacheWriteTokens);
  const reasoning = first(reading, reasoningTokens);
  if ((input ?? output ?? total ?? cacheRead ?? cacheWrite ?? reasoning) === undefined) return null;
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    cacheReadTokens: cacheRead ?? 0,
    cacheWriteTokens: cacheWrite ?? 0,
    reasoningTokens: reasoning ?? 0,
    totalTokens: total ?? (input ?? 0) + (output ?? 0),
  };
}

function langfuse(part: LangfusePart): Row<number> {
  return attribute('langfuse.observation.usage_details', (value, reading) =>
    count(langfuseUsage(value, reading)?.[part], reading),
  );
}

/** Returns a reader for a count inside a JSON attribute. */
function within(...path: readonly string[]): Reader<number> {
  return (value: AnyValue, reading) => count(member(value, path, reading), reading);
}
