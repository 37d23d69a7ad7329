import { z } from 'zod';
import { jsonObject } from '../../../lib/json-object.ts';
import { jsonSchemaOf } from '../../../lib/json-schema-of.ts';
import { spanKinds } from '../../../lib/span-kind.ts';
import { readIsoTime } from '../../../otlp/iso-time.ts';
import { checkFields } from './check-fields.ts';
import { byteLengthOf, depthOf, findLongKey } from './json-size.ts';
import { executionLimits as limits } from './limits.ts';

const text = z.string().min(1).max(limits.textCharsMax);
const tokens = z.number().int().min(0).max(limits.tokensMax).nullish();
const spanId = hexId(16);

/** OTLP times are 64-bit nanoseconds, so the last possible time is in July 2554. */
const time = z.iso
  .datetime({ offset: true, abort: true })
  .refine(isWithin64Bits, 'must be between 1970 and 2554')
  .meta({ description: 'RFC 3339 with a time zone offset, exact to the nanosecond' });

const content = z
  .unknown()
  .refine((value) => byteLengthOf(value) <= limits.contentBytesMax, {
    error: `must be at most ${limits.contentBytesMax} bytes`,
  })
  .optional()
  .meta({
    description:
      'Text, any JSON value, or messages. Messages of all clients are stored in the same form. Numbers and booleans are stored as text. Text that contains JSON is returned as JSON',
  });

const usage = z.strictObject({
  input_tokens: tokens.meta({ description: 'Prompt tokens, including cached tokens' }),
  output_tokens: tokens.meta({ description: 'Completion tokens, including reasoning tokens' }),
  cache_read_tokens: tokens,
  cache_write_tokens: tokens,
  reasoning_tokens: tokens,
  total_tokens: tokens.meta({ description: 'Default: the sum of input_tokens and output_tokens' }),
});

const cost = z
  .union([
    z.number().min(0).max(limits.costUsdMax),
    z
      .string()
      .regex(/^\d{1,7}(\.\d{1,18})?$/, 'must be a decimal number of US dollars')
      .refine((value) => !(Number(value) > limits.costUsdMax), `must be at most ${limits.costUsdMax}`),
  ])
  .meta({ description: 'US dollars as a decimal string or a number. The value is stored with nine decimals' });

const message = z.string().min(1).max(limits.errorMessageCharsMax);
const error = z.union([
  message,
  z
    .strictObject({ type: text.nullish(), message: message.nullish() })
    .refine((value) => (value.type ?? value.message ?? null) !== null, 'must have a type or a message'),
]);

/** The fields of an execution and of each of its spans. Null means the same as absent. */
const fields = {
  span_id: spanId.nullish().meta({ description: 'Default: derived from trace_id and the position in the body' }),
  kind: z.enum(spanKinds),
  name: text,
  prompt_id: text.nullish(),
  prompt_version: z.number().int().min(1).max(limits.tokensMax).nullish(),
  model: text.nullish(),
  provider: text
    .nullish()
    .meta({ description: 'Stored under its OpenTelemetry name. For example, `azure` is stored as `azure.ai.openai`' }),
  input: content,
  output: content,
  status: z
    .enum(['ok', 'error', 'unset'])
    .nullish()
    .meta({ description: 'Default: `error` if `error` is given, otherwise `ok`' }),
  error: error.nullish(),
  started_at: time.nullish(),
  ended_at: time.nullish(),
  duration_ms: z.number().min(0).max(limits.durationMsMax).nullish().meta({
    description: 'Duration in milliseconds. Use it instead of `ended_at`. The end must be before August 2554',
  }),
  usage: usage.nullish(),
  cost: cost.nullish(),
  session_id: text.nullish(),
  user_id: text.nullish(),
  environment: text.nullish(),
  tags: z.array(z.string().trim().min(1).max(limits.tagCharsMax)).max(limits.tagsMax).nullish(),
  variables: entries(limits.variablesBytesMax).nullish(),
  metadata: entries(limits.metadataBytesMax).nullish(),
};

export const spanBody = z
  .strictObject({
    ...fields,
    parent_span_id: spanId.nullish().meta({ description: 'Default: the root span of the execution' }),
  })
  .superRefine(checkFields);

export const executionBody = z
  .strictObject({
    ...fields,
    trace_id: hexId(32).nullish().meta({ description: 'Default: a new trace id' }),
    name: fields.name.nullish().meta({ description: 'Default: `execution`' }),
    kind: fields.kind.nullish().meta({
      description:
        'Default: `llm` if a model is given and `spans` has no model call; otherwise `chain` if there are spans; otherwise `other`',
    }),
    // This schema only documents the spans. check-spans.ts validates each of them with `spanBody`.
    spans: z
      .array(z.unknown())
      .max(limits.spansMax - 1)
      .nullish()
      .meta({
        description: 'Child spans. A span without times or environment has those of the execution',
        anyOf: [{ type: 'array', maxItems: limits.spansMax - 1, items: jsonSchemaOf(spanBody) }, { type: 'null' }],
      }),
  })
  .superRefine(checkFields);

export type SpanBody = z.infer<typeof spanBody>;
export type ExecutionBody = z.infer<typeof executionBody>;

function hexId(digits: number) {
  return z
    .string()
    .regex(new RegExp(`^(?!0+$)[0-9a-fA-F]{${digits}}$`), `must be ${digits} hexadecimal digits that are not all zero`)
    .transform((id) => id.toLowerCase());
}

function entries(bytesMax: number) {
  return jsonObject.superRefine((value, context) => {
    const fault = entriesFault(value, bytesMax);
    if (fault !== undefined) context.addIssue({ code: 'custom', params: { code: 'too_big' }, ...fault });
  });
}

/** A fault of entries, and its path unless they have it as a whole. */
interface EntriesFault {
  message: string;
  path?: PropertyKey[];
}

function entriesFault(value: Readonly<Record<string, unknown>>, bytesMax: number): EntriesFault | undefined {
  const { entriesMax, keyCharsMax, entryDepthMax } = limits;
  const keys = Object.keys(value);
  if (keys.length > entriesMax) return { message: `must have at most ${entriesMax} keys, not ${keys.length}` };
  if (keys.includes('')) return { message: 'must not have an empty key' };
  if (depthOf(value) > entryDepthMax) return { message: `must not be nested more than ${entryDepthMax} levels deep` };
  const path = findLongKey(value, keyCharsMax);
  if (path !== undefined) return { message: `must have keys of at most ${keyCharsMax} characters`, path };
  const bytes = byteLengthOf(value);
  return bytes > bytesMax ? { message: `must be at most ${bytesMax} bytes, not ${bytes}` } : undefined;
}

function isWithin64Bits(iso: string): boolean {
  const nano = readIsoTime(iso);
  return nano !== undefined && BigInt.asUintN(64, nano) === nano;
}
