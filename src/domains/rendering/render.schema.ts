import { z } from 'zod';
import { jsonSchemaOf } from '../../lib/json-schema-of.ts';
import { isObject } from '../../lib/json-values.ts';
import { formatUsd } from '../../lib/money.ts';
import { otelAttributes, promptTypes } from '../prompts/index.ts';
import type { TokenCount } from '../templates/index.ts';
import { versionNumber } from '../versioned/index.ts';
import type { RenderedPrompt } from './render-prompt.ts';

const model = z.string().min(1).max(256).meta({ example: 'gpt-5' });

/** Messages of one placeholder, and parts of one message. */
const givenMax = 10_000;

const roleCharactersMax = 100;

/** Messages as chat APIs define them. They replace the placeholder unchanged. */
const givenMessage = z.looseObject({
  role: z.string().min(1).max(roleCharactersMax),
  content: z.union([z.string(), listUpToFault(z.looseObject({ type: z.string() }), isPart), z.null()]).optional(),
});

const givenMessages = listUpToFault(givenMessage, isMessage);

/** Names of placeholders in one request: each that is faulty makes issues of its own. */
const placeholdersMax = 1_000;

function isPart(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function isMessage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('role' in value) || typeof value.role !== 'string') return false;
  if (value.role === '' || value.role.length > roleCharactersMax) return false;
  const content = 'content' in value ? value.content : null;
  if (Array.isArray(content)) return content.length <= givenMax && content.every(isPart);
  return content === null || typeof content === 'string';
}

/**
 * Returns the schema of a list that reports only the first faulty element. zod would make an issue for
 * each of the hundred thousand that a body can have. It also takes ten times as long for a valid element as
 * `isValid`, so it parses only the element for which that is false.
 */
function listUpToFault<Element extends z.ZodType>(element: Element, isValid: (value: unknown) => boolean) {
  return z
    .custom<z.output<Element>[]>(Array.isArray, { error: 'must be a list', abort: true })
    .superRefine((list, context) => {
      if (list.length > givenMax) {
        context.addIssue({ code: 'custom', message: `must have at most ${givenMax} elements` });
        return;
      }
      for (const [index, value] of list.entries()) {
        if (isValid(value)) continue;
        const result = element.safeParse(value, { reportInput: true });
        if (result.success) continue;
        for (const issue of result.error.issues) context.addIssue({ ...issue, path: [index, ...issue.path] });
        return;
      }
    })
    .meta({ type: 'array', maxItems: givenMax, items: jsonSchemaOf(element) });
}

/** `z.record` drops a variable `__proto__`: templates reach no prototype, also not by a name that was given. */
export const variablesField = z.record(z.string(), z.unknown()).meta({
  description: 'Values by name. Texts are inserted unchanged, objects and lists as JSON',
  example: { question: 'Why?' },
});

export const pinFields = {
  version: versionNumber.optional(),
  label: z.string().min(1).max(36).optional().meta({ example: 'production' }),
};

/** Adds an issue for `label` when both a version and a label are given. */
export function checkPin(pin: { version?: unknown; label?: unknown }, context: z.core.$RefinementCtx): void {
  if (pin.version === undefined || pin.label === undefined) return;
  context.addIssue({ code: 'custom', path: ['label'], message: 'must not be given together with version' });
}

export const renderBody = z
  .strictObject({
    ...pinFields,
    variables: variablesField.default({}),
    placeholders: z
      .custom<object>(isObject, { error: 'must be an object', abort: true })
      .refine((lists) => Object.keys(lists).length <= placeholdersMax, {
        error: `must have at most ${placeholdersMax} names`,
      })
      .pipe(z.record(z.string(), givenMessages))
      .default({})
      .meta({
        ...{ type: 'object', maxProperties: placeholdersMax, additionalProperties: jsonSchemaOf(givenMessages) },
        description:
          'Messages by the name of the placeholder that they replace. Each use of a placeholder counts: at most 10,000 messages are ' +
          'inserted. Those for placeholders that are used more than once have at most 1,048,576 characters as JSON',
      }),
    on_missing: z.enum(['error', 'empty', 'keep']).default('error').meta({
      description:
        'What to do with a missing variable: `error` refuses the request, `empty` inserts nothing, `keep` keeps the tag',
    }),
    on_extra: z.enum(['ignore', 'error']).default('ignore'),
    model: model.optional().meta({ description: 'Model for tokens and cost. It replaces the model of the config' }),
  })
  .superRefine(checkPin)
  .prefault({})
  .meta({ example: { variables: { question: 'Why is the sky blue?' }, label: 'production' } });

export const tokensSchema = z
  .object({
    count: z.int(),
    model: z.string().nullable(),
    estimated: z.boolean().meta({ description: 'False only if the encoding of the model counted the whole text' }),
  })
  .meta({ id: 'TokenCount' });

const names = z.array(z.string());

export const renderedSchema = z
  .object({
    prompt_id: z.string(),
    slug: z.string(),
    version: z.int(),
    label: z.string().optional().meta({ description: 'The label of the request' }),
    type: z.enum(promptTypes),
    rendered: z.string().optional().meta({ description: 'The rendered text of a text prompt' }),
    messages: z.array(z.looseObject({})).optional().meta({ description: 'The rendered messages of a chat prompt' }),
    config: z.record(z.string(), z.unknown()).nullable(),
    variables: z.object({
      used: names,
      defaulted: names.meta({
        description: 'Variables that a default of the input schema filled in, up to 65,536 characters',
      }),
      missing: names.meta({ description: 'Variables of the template that are absent or null' }),
      unused: names.meta({ description: 'Given variables that no template uses' }),
    }),
    parts: z.array(z.object({ slug: z.string(), version: z.int() })).meta({
      description: 'Versions that the references to parts were resolved to, including references from other parts',
    }),
    tokens: tokensSchema,
    estimated_cost: z
      .string()
      .nullable()
      .meta({ description: 'Cost of the input tokens in US dollars, at the current price' }),
    otel_attributes: z
      .record(z.string(), z.string())
      .meta({ description: 'Attributes to set on the span of the model call. They link the span to this version' }),
    warnings: z.array(z.object({ code: z.string(), message: z.string(), path: z.string() })),
  })
  .meta({ id: 'RenderedPrompt' });

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
