import { z } from 'zod';
import { prefixedParams, repeatedParam } from '../../../http/query.ts';
import { attribute } from './attribute-type.ts';
import type { BoundValue, Comparison, Condition, Operator } from './condition.ts';
import { attributePrefix, executionFields, type FieldName } from './execution-fields.ts';
import type { FieldType } from './field-types.ts';
import { parseFilter } from './filter-tree.ts';
import { wordsMax, wordsOf } from './words.ts';

interface FilterParameter {
  field: FieldName;
  op: Operator;
  description?: string;
  repeatable?: true;
}

/** The query parameters that compare a field; the rest of {@link filterParams} has a shape of its own. */
const parameters = {
  status: { field: 'status', op: 'eq' },
  name: { field: 'name', op: 'eq' },
  model: { field: 'model', op: 'eq', description: 'A model that a call was answered by' },
  provider: { field: 'provider', op: 'eq' },
  prompt_id: { field: 'prompt_id', op: 'eq' },
  prompt_version: { field: 'prompt_version', op: 'eq', description: 'With `prompt_id`, the version of that prompt' },
  session_id: { field: 'session_id', op: 'eq' },
  user_id: { field: 'user_id', op: 'eq' },
  environment: { field: 'environment', op: 'eq' },
  service: { field: 'service', op: 'eq' },
  tag: { field: 'tag', op: 'eq', repeatable: true, description: 'Repeated, all of them' },
  min_duration_ms: { field: 'duration_ms', op: 'gte' },
  max_duration_ms: { field: 'duration_ms', op: 'lte' },
  min_cost: { field: 'cost', op: 'gte', description: 'US dollars' },
  max_cost: { field: 'cost', op: 'lte', description: 'US dollars; leaves out what has no price' },
  min_tokens: { field: 'total_tokens', op: 'gte' },
  max_tokens: { field: 'total_tokens', op: 'lte' },
  has_error: { field: 'has_error', op: 'eq', description: 'Whether the execution or any of its spans failed' },
  has_feedback: { field: 'has_feedback', op: 'eq' },
} as const satisfies Record<string, FilterParameter>;

type ParameterName = keyof typeof parameters;
const parameterNames = Object.keys(parameters) as ParameterName[];

const texts = repeatedParam(valueParam(attribute)).optional();
const comparing = Object.fromEntries(
  Object.entries<FilterParameter>(parameters).map(([name, { field, description, repeatable }]) => {
    const value = valueParam(executionFields[field].type);
    const values = (repeatable ? repeatedParam(value) : value.transform((one) => [one])).optional();
    return [name, description === undefined ? values : values.meta({ description })];
  }),
) as Record<ParameterName, typeof texts>;

/** Query parameters of a list of executions that say which; spread into its query schema. */
export const filterParams = {
  ...comparing,
  [attributePrefix]: prefixedParams(repeatedParam(valueParam(attribute))).meta({
    description: 'Executions with a span that has this attribute, compared as text; several are all of them',
  }),
  q: z
    .string()
    .max(500)
    .transform(wordsOf)
    .refine((words) => words.length > 0 && words.length <= wordsMax, `must have 1 to ${wordsMax} words`)
    .optional()
    .meta({ description: 'Words that all are in the input or output of one span, in any order and case' }),
  filter: z
    .string()
    .max(10_000)
    .optional()
    .meta({
      description:
        'JSON of `{and: [...]}`, `{or: [...]}`, `{not: {...}}` and `{field, op, value}`; fields are ' +
        `${Object.keys(executionFields).join(', ')} and ${attributePrefix}<key>`,
    }),
};

export type FilterInput = z.output<z.ZodObject<typeof filterParams>>;

/** All that the parameters ask for, as one condition. Throws MalformedError for a bad `filter`. */
export function conditionOf(input: FilterInput): Condition {
  const { prompt_id: promptIds, prompt_version: versions } = input;
  const [id, version] = [promptIds?.[0], versions?.[0]];
  const together = id !== undefined && version !== undefined;
  const single = parameterNames.filter((name) => !together || (name !== 'prompt_id' && name !== 'prompt_version'));
  return {
    all: [
      ...(together ? [{ prompt: { ids: [id], version } }] : []),
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
}

const fieldOf = (name: ParameterName) => executionFields[parameters[name].field];
const is = (value: BoundValue, op: Operator): Comparison => ({ op, values: [value] });

/** A parameter's text as it is bound, or a fault that says what was expected. */
function valueParam(type: FieldType) {
  return z.string().transform((text, context): BoundValue => {
    const value = type.read(type.fromText(text));
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `must be ${type.expects}`, input: text });
    return z.NEVER;
  });
}
