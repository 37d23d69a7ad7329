import { z } from 'zod';
import { formatUsd } from '../../lib/money.ts';
import { durationMs, isoFromUnixNano } from '../../lib/time.ts';
import { statedPromptId } from '../prompt-links/index.ts';
import type { TokenUsage } from '../spans/index.ts';
import type { Execution } from '../summaries/index.ts';

const money = z
  .string()
  .nullable()
  .meta({ description: 'US dollars as a decimal string; null when the cost is not known', example: '0.001234' });

/** The status of a span, and of a whole execution. */
export const spanStatus = z.enum(['ok', 'error', 'unset']).meta({ id: 'SpanStatus' });

export const usageSchema = z
  .object({
    input_tokens: z.number().int().meta({ description: 'Prompt tokens, including cached tokens' }),
    output_tokens: z.number().int().meta({ description: 'Completion tokens, including reasoning tokens' }),
    cache_read_tokens: z.number().int(),
    cache_write_tokens: z.number().int(),
    reasoning_tokens: z.number().int(),
    total_tokens: z.number().int(),
  })
  .meta({ id: 'TokenUsage' });

export const executionSchema = z.object({
  trace_id: z.string(),
  name: z.string(),
  status: spanStatus,
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime(),
  duration_ms: z.number(),
  span_count: z.number().int(),
  error_count: z.number().int(),
  models: z.array(z.string()),
  providers: z.array(z.string()),
  prompts: z.array(
    z
      .object({
        prompt_id: z.string().nullable(),
        prompt_version: z.number().int().nullable(),
        name: z.string().nullable(),
        calls: z.number().int().meta({ description: 'Number of model calls, or of spans that represent model calls' }),
      })
      .meta({ id: 'ExecutionPrompt' }),
  ),
  usage: usageSchema,
  cost: money,
  unpriced_spans: z.number().int(),
  totals_truncated: z.boolean().meta({
    description:
      'Whether usage, cost, unpriced_spans, models, providers and prompts cover only the earliest 200,000 spans',
  }),
  omitted: z
    .object({
      models: z.number().int(),
      providers: z.number().int(),
      prompts: z.number().int(),
      tags: z.number().int(),
    })
    .meta({
      description: 'How many members of each list are omitted. A list shows its first 64 members or 8,192 characters',
    }),
  session_id: z.string().nullable(),
  user_id: z.string().nullable(),
  environment: z.string().nullable(),
  tags: z.array(z.string()),
  service: z.string().nullable(),
  input_preview: z.string().nullable(),
  output_preview: z.string().nullable(),
  complete: z.boolean().meta({ description: 'Whether a root span, a span without a parent, has arrived' }),
  feedback_score: z
    .number()
    .nullable()
    .meta({ description: 'Mean score of the feedback on the execution and its spans, from 0 to 1' }),
});

/** Converts an execution to its API JSON; '' becomes null. */
export function executionToWire(execution: Execution, feedbackScore: number | null): z.infer<typeof executionSchema> {
  return {
    trace_id: execution.traceId,
    name: execution.name,
    status: execution.status,
    started_at: isoFromUnixNano(execution.startUnixNano),
    ended_at: isoFromUnixNano(execution.endUnixNano),
    duration_ms: durationMs(execution.startUnixNano, execution.endUnixNano),
    span_count: execution.spanCount,
    error_count: execution.errorCount,
    models: [...execution.models],
    providers: [...execution.providers],
    prompts: execution.prompts.filter(isNamed).map(promptToWire),
    usage: usageToWire(execution.usage),
    cost: costToWire(execution.costNanoUsd),
    unpriced_spans: execution.unpricedSpans,
    totals_truncated: execution.totalsTruncated,
    omitted: { ...execution.omitted },
    session_id: execution.sessionId || null,
    user_id: execution.userId || null,
    environment: execution.environment || null,
    tags: [...execution.tags],
    service: execution.service || null,
    input_preview: execution.inputPreview || null,
    output_preview: execution.outputPreview || null,
    complete: execution.complete,
    feedback_score: feedbackScore,
  };
}

function promptToWire(prompt: Execution['prompts'][number]) {
  const id = statedPromptId(prompt);
  return {
    prompt_id: id || null,
    prompt_version: prompt.version || null,
    name: prompt.name === id ? null : prompt.name || null,
    calls: prompt.calls,
  };
}

/**
 * Returns whether a prompt can be shown. A template text without a known prompt gives a reader
 * no information.
 */
function isNamed({ id, name }: Execution['prompts'][number]): boolean {
  return id !== '' || name !== '';
}

/** Converts token counts to their API JSON. */
export function usageToWire(usage: TokenUsage): z.infer<typeof usageSchema> {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    reasoning_tokens: usage.reasoningTokens,
    total_tokens: usage.totalTokens,
  };
}

/** Converts nano-USD to a decimal string in USD; null stays null. */
export function costToWire(nanoUsd: bigint | null): string | null {
  return nanoUsd === null ? null : formatUsd(nanoUsd);
}
