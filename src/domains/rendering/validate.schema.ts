import { z } from 'zod';
import { checkText, contentFields, contentFrom, promptTypes } from '../prompts/index.ts';
import type { Lint } from '../templates/index.ts';
import type { Compatibility } from './compare-variables.ts';
import { checkPin, pinFields, tokensSchema, tokensToWire, variablesField } from './render.schema.ts';
import type { Draft, DraftReport } from './validate-draft.ts';

export const validateBody = z
  .strictObject({
    type: z
      .enum(promptTypes)
      .optional()
      .meta({ description: 'Type of the draft; default: `chat` if there are messages, otherwise `text`' }),
    ...contentFields,
    part_slug: z.string().min(1).max(100).optional().meta({
      description: 'For the draft of a part: the slug of the part. It is needed to detect a cycle',
      example: 'signature',
    }),
    variables: variablesField.optional().meta({ description: 'Variables to check against the draft' }),
    compare_to: z
      .strictObject({
        prompt_id: z.string().min(1).max(100).meta({ description: 'Id or slug of the prompt to compare with' }),
        ...pinFields,
      })
      .superRefine(checkPin)
      .optional(),
  })
  .superRefine((body, context) => checkText({ ...body, type: typeOf(body) }, context))
  .meta({ example: { type: 'text', template: 'Answer {{question}}', input_schema: { required: ['question'] } } });

type ValidateBody = z.output<typeof validateBody>;

function typeOf({ type, messages }: { type?: 'text' | 'chat' | undefined; messages?: unknown }): 'text' | 'chat' {
  return type ?? (messages === undefined ? 'text' : 'chat');
}

/** Reads a draft from a request body. */
export function draftFrom(body: ValidateBody): Omit<Draft, 'project'> {
  const { compare_to: compareTo, part_slug: partSlug, variables } = body;
  return {
    content: contentFrom({ ...body, type: typeOf(body) }),
    partSlug,
    variables,
    compareTo: compareTo && { idOrSlug: compareTo.prompt_id, version: compareTo.version, label: compareTo.label },
  };
}

const place = {
  path: z.string().meta({ description: 'The field, for example `template`, `messages[2].content` or `input_schema`' }),
  message_index: z.int().optional().meta({ description: 'Index of the message of a chat, from 0' }),
  line: z.int().meta({ description: 'Line, from 1' }),
  column: z.int().meta({ description: 'Column of the opening tag, from 1, in UTF-16 units' }),
  length: z.int(),
};

const lintSchema = z
  .object({
    code: z.string().meta({ example: 'unknown_part' }),
    message: z.string(),
    severity: z.enum(['error', 'warning']),
    ...place,
    suggestion: z.string().optional(),
  })
  .meta({ id: 'Lint' });

const paths = z.array(z.string());

export const validatedSchema = z
  .object({
    valid: z.boolean(),
    errors: z.array(lintSchema),
    warnings: z.array(lintSchema),
    variables: z.array(
      z.object({
        name: z.string(),
        path: z.string(),
        required: z
          .boolean()
          .meta({ description: 'Whether a render with `on_missing: error` fails if only this variable is absent' }),
        occurrences: z.array(z.object({ ...place, note: z.string().optional() })),
      }),
    ),
    placeholders: paths,
    parts: z.array(
      z.object({
        slug: z.string(),
        ref: z.string(),
        status: z.enum(['ok', 'unknown', 'cycle']),
        version: z.int().optional(),
      }),
    ),
    tokens: tokensSchema,
    compatibility: z
      .object({
        breaking: z
          .boolean()
          .meta({ description: 'Whether calls that work with the saved version would fail with the draft' }),
        added_variables: paths,
        removed_variables: paths,
        newly_required: paths,
        refused_variables: paths.meta({
          description:
            'Variables that the saved version accepts, and the input schema of the draft refuses or accepts with fewer types',
        }),
        type_changed: z.boolean(),
      })
      .optional(),
  })
  .meta({ id: 'DraftReport' });

type Wire = z.infer<typeof validatedSchema>;

/** Errors returned at most, and warnings returned at most. */
const lintsMax = 200;

/** Converts the report on a draft to its JSON form. */
export function validatedToWire({ lints, variables, textPaths, ...report }: DraftReport): Wire {
  const errors = lints.filter(({ severity }) => severity === 'error');
  const warnings = lints.filter(({ severity }) => severity === 'warning');
  return {
    valid: errors.length === 0,
    errors: errors.slice(0, lintsMax).map(lintToWire),
    warnings: warnings.slice(0, lintsMax).map(lintToWire),
    variables: variables.map(({ name, path, required, occurrences }) => ({
      name,
      path,
      required,
      occurrences: occurrences.map(({ text, message, ...position }) => ({
        ...placeToWire(textPaths[text] ?? 'template', position),
        ...(message === undefined ? {} : { note: message }),
      })),
    })),
    placeholders: report.placeholders,
    parts: report.parts.map(({ slug, ref, status, version }) => ({
      ...{ slug, ref, status },
      ...(version === undefined ? {} : { version }),
    })),
    tokens: tokensToWire(report.tokens),
    ...(report.compatibility === undefined ? {} : { compatibility: compatibilityToWire(report.compatibility) }),
  };
}

function lintToWire({ code, message, severity, path, suggestion, ...position }: Lint): Wire['errors'][number] {
  const said = suggestion === undefined ? {} : { suggestion };
  return { code, message, severity, ...placeToWire(path, position), ...said };
}

function placeToWire(path: string, { line, column, length }: { line: number; column: number; length: number }) {
  const index = /^messages\[(\d+)\]/.exec(path)?.[1];
  return { path, ...(index === undefined ? {} : { message_index: Number(index) }), line, column, length };
}

function compatibilityToWire(found: Compatibility): NonNullable<Wire['compatibility']> {
  return {
    breaking: found.breaking,
    added_variables: found.addedVariables,
    removed_variables: found.removedVariables,
    newly_required: found.newlyRequired,
    refused_variables: found.refusedVariables,
    type_changed: found.typeChanged,
  };
}
