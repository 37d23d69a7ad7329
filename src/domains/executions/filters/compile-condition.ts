import { hasSpan, ofTraces } from '../../spans/index.ts';
import { attribute } from './attribute-type.ts';
import type { BoundParameters } from './bound-parameters.ts';
import type { Comparison, Condition } from './condition.ts';
import { type FieldType, operatorTests } from './field-types.ts';
import { promptUsed } from './prompt-used.ts';
import { hasWords } from './words.ts';

export type SpanSearch =
  | { mode: 'candidates'; traceIds?: readonly string[] | undefined; rowsMax?: number | undefined }
  | { mode: 'exact'; traceIds?: readonly string[] | undefined };

export interface CompileContext {
  parameters: BoundParameters;
  projectId: string;
  /**
   * How spans are searched. `candidates` is fast but also sees rows that were replaced, so it may
   * find too many executions. `exact` ignores replaced rows. Both search only `traceIds` if they
   * are given. With `rowsMax` the query fails if the indexes estimate that a condition reads more rows.
   */
  spans: SpanSearch;
}

/**
 * Returns a condition as SQL over `executions`, which is 0 or 1 and never null. Values from callers
 * are only in the parameters.
 */
export function compileCondition(condition: Condition, context: CompileContext): string {
  if ('all' in condition) return join(condition.all, ' AND ', 'true', context);
  if ('any' in condition) return join(condition.any, ' OR ', 'false', context);
  if ('not' in condition) return `NOT ${compileCondition(condition.not, exactly(context))}`;
  if ('words' in condition) return ofSpans(hasWords(condition.words, context.parameters), context);
  if ('traces' in condition) return `(${isOneOfTraces(condition.traces, context.parameters)})`;
  if ('prompt' in condition) return ofPrompt(condition.prompt, context.parameters);
  const turned = isTurned(condition);
  const test =
    'field' in condition
      ? compare(condition.field.type, condition.field.sql, condition, context.parameters)
      : ofAttribute(condition, turned ? exactly(context) : context);
  return turned ? `NOT ${test}` : test;
}

function join(parts: readonly Condition[], word: string, empty: string, context: CompileContext): string {
  return parts.length === 0 ? empty : `(${parts.map((part) => compileCondition(part, context)).join(word)})`;
}

function isTurned({ op, values }: Comparison): boolean {
  return operatorTests[op].negated || (op === 'exists' && values[0] === false);
}

function compare(type: FieldType, x: string, { op, values }: Comparison, parameters: BoundParameters): string {
  const name = operatorTests[op].test;
  const test = type.tests[name];
  if (test === undefined) throw new Error(`There is no test for ${op}`);
  if (name === 'present') return `(${test(x, '', values)})`;
  const isList = name === 'oneOf';
  const bound = parameters.bind(
    isList ? `Array(${type.clickhouseType})` : type.clickhouseType,
    isList ? values : values[0],
  );
  return `ifNull(${test(x, bound, values)}, false)`;
}

function ofAttribute(condition: { attribute: string } & Comparison, context: CompileContext): string {
  const key = context.parameters.bind('String', condition.attribute);
  return ofSpans(compare(attribute, key, condition, context.parameters), context);
}

type PromptLeaf = Extract<Condition, { prompt: unknown }>['prompt'];

/** The texts of each prompt are one parameter, however many conditions name it: they have up to 75 KB. */
function ofPrompt({ mentions, version }: PromptLeaf, parameters: BoundParameters): string {
  const lists = mentions.map((texts) => parameters.once(texts, () => parameters.bind('Array(String)', texts)));
  return promptUsed({
    ids: `arrayConcat(${[...new Set(lists)].join(', ')})`,
    ...(version !== undefined && { versions: parameters.bind('Array(Int64)', [version]) }),
  });
}

/** Returns SQL that is true when a span of the execution satisfies `test`. */
function ofSpans(test: string, { parameters, projectId, spans }: CompileContext): string {
  const project = parameters.bind('String', projectId);
  const { traceIds } = spans;
  const ids = traceIds && parameters.once(traceIds, () => boundTraces(traceIds, parameters));
  if (spans.mode === 'candidates') return hasSpan(test, { project, rows: { any: { ids, rowsMax: spans.rowsMax } } });
  return hasSpan(test, { project, rows: ids === undefined ? 'current' : { currentOf: ids } });
}

/** A value of a parameter may have 128 KiB (`http_max_field_value_size` of ClickHouse). */
const tracesPerParameter = 4_000;

function boundTraces(traceIds: readonly string[], parameters: BoundParameters): string {
  if (traceIds.length <= tracesPerParameter) return parameters.bind('String', traceIds.join(''));
  const pieces: string[] = [];
  for (let start = 0; start < traceIds.length; start += tracesPerParameter) {
    pieces.push(parameters.bind('String', traceIds.slice(start, start + tracesPerParameter).join('')));
  }
  return `concat(${pieces.join(', ')})`;
}

/** Returns SQL that is true for rows of these traces. */
export function isOneOfTraces(traceIds: readonly string[], parameters: BoundParameters): string {
  return ofTraces(parameters.once(traceIds, () => boundTraces(traceIds, parameters)));
}

function exactly(context: CompileContext): CompileContext {
  const { traceIds } = context.spans;
  return context.spans.mode === 'exact' ? context : { ...context, spans: { mode: 'exact', traceIds } };
}
