import type { AnyValue, Attributes } from '../../../otlp/span.ts';
import { isMessageList } from '../../conventions/index.ts';
import { textOf } from './json-size.ts';
import type { ResolvedSpan } from './resolve-spans.ts';

type Source = readonly [key: string, read: (span: ResolvedSpan) => AnyValue | undefined];

/** The attribute that carries each field: a standard name where one exists, else our own. */
const sources: readonly Source[] = [
  ['promptlane.span.kind', ({ kind }) => kind],
  ['gen_ai.request.model', ({ fields }) => fields.model ?? undefined],
  ['gen_ai.provider.name', ({ fields }) => fields.provider ?? undefined],
  ['gen_ai.input.messages', (span) => (hasMessages(span, 'input') ? textOf(span.fields.input) : undefined)],
  ['gen_ai.output.messages', (span) => (hasMessages(span, 'output') ? textOf(span.fields.output) : undefined)],
  ['promptlane.input', (span) => (hasMessages(span, 'input') ? undefined : contentText(span.fields.input))],
  ['promptlane.output', (span) => (hasMessages(span, 'output') ? undefined : contentText(span.fields.output))],
  ['error.type', ({ fields }) => (typeof fields.error === 'object' ? (fields.error?.type ?? undefined) : undefined)],
  ['gen_ai.usage.input_tokens', ({ fields }) => integer(fields.usage?.input_tokens)],
  ['gen_ai.usage.output_tokens', ({ fields }) => integer(fields.usage?.output_tokens)],
  ['gen_ai.usage.cache_read.input_tokens', ({ fields }) => integer(fields.usage?.cache_read_tokens)],
  ['gen_ai.usage.cache_creation.input_tokens', ({ fields }) => integer(fields.usage?.cache_write_tokens)],
  ['gen_ai.usage.reasoning.output_tokens', ({ fields }) => integer(fields.usage?.reasoning_tokens)],
  ['gen_ai.usage.total_tokens', ({ fields }) => integer(fields.usage?.total_tokens)],
  ['gen_ai.usage.cost', ({ fields }) => fields.cost ?? undefined],
  ['session.id', ({ fields }) => quotedTwice(fields.session_id)],
  ['user.id', ({ fields }) => quotedTwice(fields.user_id)],
  ['tag.tags', ({ fields }) => fields.tags ?? undefined],
  ['promptlane.prompt.id', ({ fields }) => fields.prompt_id ?? undefined],
  ['promptlane.prompt.version', ({ fields }) => integer(fields.prompt_version)],
];

const families = [
  ['gen_ai.prompt.variable.', 'variables'],
  ['promptlane.metadata.', 'metadata'],
] as const;

/** Returns the attributes of a span. A field that is not given has no attribute. */
export function spanAttributes(span: ResolvedSpan): Attributes {
  const attributes: Attributes = new Map();
  for (const [key, read] of sources) {
    const value = read(span);
    if (value !== undefined) attributes.set(key, value);
  }
  for (const [prefix, field] of families) {
    for (const [key, value] of Object.entries(span.fields[field] ?? {})) attributes.set(prefix + key, anyValue(value));
  }
  return attributes;
}

/** Returns whether a field holds messages. Arguments and results of a tool are always plain data. */
function hasMessages({ kind, fields }: ResolvedSpan, side: 'input' | 'output'): boolean {
  return kind !== 'tool' && isMessageList(fields[side]);
}

function contentText(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : textOf(value);
}

/**
 * Readers of these attributes remove JSON quotes, because some clients add them. A value that
 * itself begins with a quote therefore needs another pair.
 */
function quotedTwice(value: string | null | undefined): string | undefined {
  return value?.startsWith('"') ? JSON.stringify(value) : (value ?? undefined);
}

function integer(value: number | null | undefined): bigint | undefined {
  return value === undefined || value === null ? undefined : BigInt(value);
}

/** Converts JSON to an OTLP value. Entries are at most eight levels deep, so recursion is safe. */
function anyValue(value: unknown): AnyValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(anyValue);
  if (typeof value !== 'object' || value === null) return null;
  return new Map(Object.entries(value).map(([key, each]) => [key, anyValue(each)]));
}
