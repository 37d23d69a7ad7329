import { z } from 'zod';
import { InvalidError } from '../../lib/errors.ts';
import { templateFormats, templateLimits } from '../templates/index.ts';
import {
  contentJson,
  createFields,
  type Item,
  type ItemAt,
  itemAtSchemaOf,
  itemAtToWire,
  itemSummarySchema,
  itemSummaryToWire,
  updateFields,
  type Version,
  versionSchemaOf,
  versionToWire,
} from '../versioned/index.ts';
import { type PromptContent, promptContentToWire, promptKind, promptTypes } from './prompt-content.ts';

const roles = ['system', 'developer', 'user', 'assistant', 'tool'] as const;

const message = z
  .union([
    z.strictObject({ role: z.enum(roles), content: z.string() }),
    z.strictObject({
      placeholder: z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]{0,99}$/, 'must be a name of letters, digits, _ and -'),
    }),
  ])
  .meta({ id: 'NewPromptMessage' });
const type = z.enum(promptTypes);
const template = z.string().meta({ example: 'Answer {{question}} in a {{tone}} tone.' });
const messages = z
  .array(message)
  .min(1)
  .max(templateLimits.messagesMax)
  .meta({ example: [{ role: 'user', content: '{{question}}' }] });
const templateFormat = z.enum(templateFormats);
const config = contentJson
  .nullable()
  .meta({ example: { provider: 'openai', model: 'gpt-5', params: { temperature: 0 } } });
const inputSchema = contentJson
  .nullable()
  .meta({ description: 'JSON Schema 2020-12 of the variables', example: { required: ['question'] } });

export const contentFields = {
  template: template.optional(),
  messages: messages.optional(),
  template_format: templateFormat.optional(),
  config: config.optional(),
  input_schema: inputSchema.optional(),
};

export const createPromptBody = z
  .strictObject({ ...createFields(promptKind), type, ...contentFields })
  .superRefine(checkText)
  .meta({ example: { name: 'Support answer', type: 'text', template: 'Answer {{question}}', labels: ['production'] } });

/** Checks that a text prompt has a template and a chat has messages, and neither has both. */
export function checkText(body: ContentBody & { type: 'text' | 'chat' }, context: z.core.$RefinementCtx): void {
  const [wanted, other] =
    body.type === 'text' ? (['template', 'messages'] as const) : (['messages', 'template'] as const);
  const issue = (path: string, text: string, code: string) =>
    context.addIssue({ code: 'custom', path: [path], message: text, params: { code } });
  if (body[wanted] === undefined) issue(wanted, `is required for the type ${body.type}`, 'required');
  if (body[other] !== undefined) issue(other, `is not allowed for the type ${body.type}`, 'wrong_type');
}

export const updatePromptBody = z
  .strictObject({ ...updateFields(promptKind), type: type.optional(), ...contentFields })
  .meta({ example: { template: 'Answer {{question}} briefly', commit_message: 'shorter' } });

type ContentBody = z.output<z.ZodObject<typeof contentFields>>;

/** Reads the content of a new prompt from a request body that {@link createPromptBody} accepts. */
export function contentFrom(body: ContentBody & { type: 'text' | 'chat' }): PromptContent {
  const text =
    body.type === 'text'
      ? { type: body.type, template: body.template ?? '' }
      : { type: body.type, messages: body.messages ?? [] };
  return {
    ...text,
    templateFormat: body.template_format ?? 'mustache',
    config: body.config ?? null,
    inputSchema: body.input_schema ?? null,
  };
}

const mergedFields = ['template', 'messages', 'template_format', 'config', 'input_schema'] as const;

/**
 * Merges a request body into the newest content: an absent field stays, null clears it. Returns the newest content itself
 * if all are absent.
 * @throws InvalidError when the type would change
 */
export function mergeContent(
  newest: PromptContent,
  body: ContentBody & { type?: 'text' | 'chat' | undefined },
): PromptContent {
  const foreign = newest.type === 'text' ? 'messages' : 'template';
  if (body.type !== undefined && body.type !== newest.type) throw otherType('type', newest.type);
  if (body[foreign] !== undefined) throw otherType(foreign, newest.type);
  if (mergedFields.every((field) => body[field] === undefined)) return newest;
  const text =
    newest.type === 'text'
      ? { type: newest.type, template: body.template ?? newest.template }
      : { type: newest.type, messages: body.messages ?? newest.messages };
  return {
    ...text,
    templateFormat: body.template_format ?? newest.templateFormat,
    config: body.config === undefined ? newest.config : body.config,
    inputSchema: body.input_schema === undefined ? newest.inputSchema : body.input_schema,
  };
}

function otherType(path: string, fixed: string): InvalidError {
  const said = `the type of this prompt is ${fixed} and cannot change`;
  return new InvalidError('invalid_body', `${path}: ${said}`, {
    errors: [{ path, code: 'wrong_type', message: said }],
  });
}

export const storedMessage = z
  .union([
    z.strictObject({ role: z.string().min(1).max(100).meta({ example: 'user' }), content: z.string() }),
    z.strictObject({ placeholder: z.string().min(1).max(100) }),
  ])
  .meta({ id: 'PromptMessage' });

const contentShape = {
  type,
  template: template.optional(),
  messages: z.array(storedMessage).optional(),
  template_format: templateFormat,
  config,
  input_schema: inputSchema,
};

export const promptSummarySchema = itemSummarySchema.extend({ type }).meta({ id: 'PromptSummary' });

/** Converts a prompt to its JSON form in lists. */
export function promptSummaryToWire(item: Item): z.infer<typeof promptSummarySchema> {
  return { ...itemSummaryToWire(item), type: type.parse(item.fixed.type) };
}

export const promptSchema = itemAtSchemaOf(contentShape)
  .extend({
    otel_attributes: z
      .record(z.string(), z.string())
      .meta({ description: 'Attributes to set on the span of a model call. They link the span to this version' }),
  })
  .meta({ id: 'Prompt' });
export const updatedPromptSchema = promptSchema.extend({ created_version: z.boolean() }).meta({ id: 'UpdatedPrompt' });
export const promptVersionSchema = versionSchemaOf(contentShape).meta({ id: 'PromptVersion' });

export const diffSchema = z
  .object({
    from: z.int(),
    to: z.int(),
    identical: z.boolean(),
    changes: z
      .array(z.object({ field: z.string(), from: z.unknown(), to: z.unknown() }))
      .meta({ description: 'At most 500, and as many as have 262,144 characters of `field`' }),
    unified_diff: z.string().meta({ description: 'Unified diff of the template, or of the messages with their roles' }),
  })
  .meta({ id: 'PromptDiff' });

/** Converts a prompt with one of its versions to its JSON form. */
export function promptToWire(at: ItemAt<PromptContent>): z.infer<typeof promptSchema> {
  const { item, version } = at;
  return {
    ...itemAtToWire(at, promptContentToWire(version.content)),
    otel_attributes: otelAttributes(item, version.version),
  };
}

/** Converts a version of a prompt to its JSON form. */
export function promptVersionToWire(version: Version<PromptContent>): z.infer<typeof promptVersionSchema> {
  return versionToWire(version, promptContentToWire(version.content));
}

/** Returns the attributes that link a span to a version of a prompt. */
export function otelAttributes({ id, slug }: Item, version: number): Record<string, string> {
  return { 'gen_ai.prompt.name': slug, 'gen_ai.prompt.version': String(version), 'promptlane.prompt.id': id };
}
