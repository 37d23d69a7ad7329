import { z } from 'zod';
import { prefixedParams, repeatedParam } from '../../../http/query.ts';
import { attribute } from './attribute-type.ts';
import { checkCost } from './bound-cost.ts';
import type { Comparison, Condition } from './condition.ts';
import { attributePrefix, executionFields, type FieldName } from './execution-fields.ts';
import type { FieldType } from './field-types.ts';
import { parseFilter } from './filter-tree.ts';
import type { BoundValue, Operator } from './operators.ts';
import { wordsMax, wordsOf } from './words.ts';

interface FilterParameter {
  field: FieldName;
  op: Operator;
  example: string;
  description?: string;
  repeatable?: true;
}

/**
 * Query parameters that compare one field. The other {@link filterParams} have their own format.
 */
const parameters = {
  status: { field: 'status', op: 'eq', example: 'error' },
  name: { field: 'name', op: 'eq', example: 'support' },
  model: { field: 'model', op: 'eq', example: 'gpt-4o', description: 'A model that answered a call of the execution' },
  provider: { field: 'provider', op: 'eq', example: 'openai' },
  prompt_id: {
    field: 'prompt_id',
    op: 'eq',
    example: 'prm_01k0w2n3t4v5x6y7z8a9b0c1d2',
    description: 'The id or slug of a prompt',
  },
  prompt_version: {
    field: 'prompt_version',
    op: 'eq',
    example: '3',
    description: 'The version of the prompt. Use it together with `prompt_id`',
  },
  session_id: { field: 'session_id', op: 'eq', example: 'session-7' },
  user_id: { field: 'user_id', op: 'eq', example: 'user-42' },
  environment: { field: 'environment', op: 'eq', example: 'production' },
  service: { field: 'service', op: 'eq', example: 'api' },
  tag: {
    field: 'tag',
    op: 'eq',
    example: 'beta',
    repeatable: true,
    description: 'A tag. If it is repeated, an execution must have all of the tags',
  },
  min_duration_ms: { field: 'duration_ms', op: 'gte', example: '250.5' },
  max_duration_ms: { field: 'duration_ms', op: 'lte', example: '5000' },
  min_cost: { field: 'cost', op: 'gte', example: '0.01', description: 'The smallest cost in US dollars' },
  max_cost: {
    field: 'cost',
    op: 'lte',
    example: '1.5',
    description: 'The largest cost in US dollars. Executions without a known cost are excluded',
  },
  min_tokens: { field: 'total_tokens', op: 'gte', example: '100' },
  max_tokens: { field: 'total_tokens', op: 'lte', example: '20000' },
  has_error: {
    field: 'has_error',
    op: 'eq',
    example: 'true',
    description: 'Whether the execution or one of its spans failed',
  },
  has_feedback: {
    field: 'has_feedback',
    op: 'eq',
    example: 'false',
    description:
      'Whether the execution or one of its spans got feedback since a day before `from`. It is refused if more than ' +
      '10,000 executions did',
  },
} as const satisfies Record<string, FilterParameter>;

type ParameterName = keyof typeof parameters;
const parameterNames = Object.keys(parameters) as ParameterName[];

const words: Partial<Record<Operator, string>> = {
  eq: 'Exact value of',
  gte: 'Smallest value of',
  lte: 'Largest value of',
};

const texts = repeatedParam(valueParam(attribute)).optional();
const comparing = Object.fromEntries(
  Object.entries<FilterParameter>(parameters).map(([name, { field, op, example, description, repeatable }]) => {
    const value = valueParam(executionFields[field].type);
    const values = (repeatable ? repeatedParam(value) : value.transform((one) => [one])).optional();
    return [name, values.meta({ description: description ?? `${words[op]} \`${field}\``, example })];
  }),
) as Record<ParameterName, typeof texts>;

/** Query parameters that select executions. They are spread into the query schema of the list. */
export const filterParams = {
  ...comparing,
  [attributePrefix]: prefixedParams(repeatedParam(valueParam(attribute))).meta({
    description:
      'Executions with a span that has this attribute value, compared as text. An execution must match every such parameter',
    example: { tier: 'gold' },
  }),
  q: z
    .string()
    .max(500)
    .transform(wordsOf)
    .refine((words) => words.length > 0 && words.length <= wordsMax, `must have 1 to ${wordsMax} words`)
    .optional()
    .meta({
      example: 'refund late',
      description: 'Words that the input or output of one span must all contain, in any order and case',
    }),
  filter: z
    .string()
    .max(10_000)
    .optional()
    .meta({
      example: '{"field":"cost","op":"gte","value":"0.01"}',
      description:
        'JSON of `{and: [...]}`, `{or: [...]}`, `{not: {...}}` and `{field, op, value}`; the fields are ' +
        `${Object.keys(executionFields).join(', ')} and ${attributePrefix}<key>. \`exists\` of \`prompt_id\` tests whether a prompt ` +
        'was known when the execution was stored; the other operators use what is known today',
    }),
};

export type FilterInput = z.output<z.ZodObject<typeof filterParams>>;

/**
 * Combines all parameters into one condition.
 * @throws MalformedError for a bad `filter`, or for a request that exceeds the limits
 */
export function conditionOf(input: FilterInput): Condition {
  const { prompt_id: promptIds, prompt_version: versions } = input;
  const [id, version] = [promptIds?.[0], versions?.[0]];
  const together = id !== undefined && version !== undefined;
  const single = parameterNames.filter((name) => !together || (name !== 'prompt_id' && name !== 'prompt_version'));
  const condition: Condition = {
    all: [
      ...(together ? [{ prompt: { mentions: [[id]], version } }] : []),
      ...single.flatMap((name) =>
        (input[name] ?? []).map((value) => ({ field: fieldOf(name), ...is(value, parameters[name].op) })),
      ),
      ...Object.entries(input[attributePrefix] ?? {}).flatMap(([key, values]) =>
        (values ?? []).map((value) => ({ attribute: key, ...is(value, 'eq') })),
      ),
      ...(input.q === undefined ? [] : [{ words: input.q }]),
      ...(input.filter === undefined ? [] : [parseFilter(input.filter)]),
    ],
  };
  checkCost(condition, input.filter === undefined ? 'invalid_parameter' : 'invalid_filter');
  return condition;
}

const fieldOf = (name: ParameterName) => executionFields[parameters[name].field];
const is = (value: BoundValue, op: Operator): Comparison => ({ op, values: [value] });

/**
 * Returns a schema that converts a parameter's text to the value to bind, or reports what was
 * expected.
 */
function valueParam(type: FieldType) {
  return z.string().transform((text, context): BoundValue => {
    const value = type.read(type.fromText(text));
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `must be ${type.expects}`, input: text });
    return z.NEVER;
  });
}
