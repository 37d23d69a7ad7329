import { z } from 'zod';
import { formatUsd } from '../../lib/money.ts';
import { otelAttributes, promptTypes } from '../prompts/index.ts';
import type { TokenCount } from '../templates/index.ts';
import { versionNumber } from '../versioned/index.ts';
import type { RenderedPrompt } from './render-prompt.ts';

const model = z.string().min(1).max(256).meta({ example: 'gpt-5' });

/** Messages as chat APIs define them. They replace the placeholder unchanged. */
const givenMessage = z.looseObject({
  role: z.string().min(1).max(100),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })), z.null()]).optional(),
});

export const variablesField = z
  .record(z.string(), z.unknown())
  .meta({ description: 'Values by name; texts as they are, objects and lists as JSON', example: { question: 'Why?' } });

export const pinFields = {
  version: versionNumber.optional(),
  label: z.string().min(1).max(36).optional().meta({ example: 'production' }),
};

/** Adds an issue for `label` when both a version and a label are given. */
export function checkPin(pin: { version?: unknown; label?: unknown }, context: z.core.$RefinementCtx): void {
  if (pin.version === undefined || pin.label === undefined) return;
  context.addIssue({ code: 'custom', path: ['label'], message: 'give either version or label, not both' });
}

export const renderBody = z
  .strictObject({
    ...pinFields,
    variables: variablesField.default({}),
    placeholders: z.record(z.string(), z.array(givenMessage)).default({}),
    on_missing: z
      .enum(['error', 'empty', 'keep'])
      .default('error')
      .meta({ description: 'For missing variables: refuse, insert nothing, or leave the tag as it is written' }),
    on_extra: z.enum(['ignore', 'error']).default('ignore'),
    model: model.optional().meta({ description: "For tokens and cost, instead of the config's" }),
  })
  .superRefine(checkPin)
  .prefault({})
  .meta({ example: { variables: { question: 'Why is the sky blue?' }, label: 'production' } });

export const tokensSchema = z.object({
  count: z.int(),
  model: z.string().nullable(),
  estimated: z.boolean().meta({ description: "False only when the model's own encoding has counted all of it" }),
});

const names = z.array(z.string());

export const renderedSchema = z.object({
  prompt_id: z.string(),
  slug: z.string(),
  version: z.int(),
  label: z.string().optional().meta({ description: 'As it was asked for' }),
  type: z.enum(promptTypes),
  rendered: z.string().optional().meta({ description: 'Of a text prompt' }),
  messages: z.array(z.looseObject({})).optional().meta({ description: 'Of a chat' }),
  config: z.record(z.string(), z.unknown()).nullable(),
  variables: z.object({
    used: names,
    defaulted: names.meta({ description: 'Filled by a default of the input schema' }),
    missing: names.meta({ description: 'Absent or null where the template has them' }),
    unused: names.meta({ description: 'Given, but in no template' }),
  }),
  parts: z
    .array(z.object({ slug: z.string(), version: z.int() }))
    .meta({ description: 'What the references to parts came to, directly and through others' }),
  tokens: tokensSchema,
  estimated_cost: z.string().nullable().meta({ description: 'USD of the input tokens at the price of now' }),
  otel_attributes: z
    .record(z.string(), z.string())
    .meta({ description: 'To be set on the span of the call, which links it to this version' }),
  warnings: z.array(z.object({ code: z.string(), message: z.string(), path: z.string() })),
});

/** Converts a rendered prompt to its JSON form. */
export function renderedToWire(result: RenderedPrompt, label: string | undefined): z.infer<typeof renderedSchema> {
  const { item, version, compiled, rendered, variables, estimatedCostNanoUsd } = result;
  return {
    prompt_id: item.id,
    slug: item.slug,
    version,
    ...(label === undefined ? {} : { label }),
    type: compiled.content.type,
    ...('text' in rendered
      ? { rendered: rendered.text }
      : { messages: rendered.messages.map((each) => ({ ...each })) }),
    config: compiled.content.config,
    variables: { ...variables, defaulted: [...variables.defaulted] },
    parts: [...compiled.parts],
    tokens: tokensToWire(result.tokens),
    estimated_cost: estimatedCostNanoUsd === null ? null : formatUsd(estimatedCostNanoUsd),
    otel_attributes: otelAttributes(item, version),
    warnings: result.warnings,
  };
}

/** Converts a token count to its JSON form. */
export function tokensToWire({ count, model: name, estimated }: TokenCount): z.infer<typeof tokensSchema> {
  return { count, model: name, estimated };
}
