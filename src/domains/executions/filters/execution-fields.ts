import type { FieldType } from './field-types.ts';
import * as types from './field-types.ts';

/** A field to filter by: its type and its SQL over `executions`. */
export interface ExecutionField {
  type: FieldType;
  sql: string;
  /** Set for a whole number or null whose columns are also in `execution_versions`. */
  sortable?: true;
}

/**
 * A cost is never below 0. A negative sum overflowed 64 bits when it was stored, and counts as the
 * largest 64-bit value.
 */
const costSql = 'if(cost_nano_usd < 0, toInt64(9223372036854775807), cost_nano_usd)';

/**
 * Every field of filters by its name in the API. Query parameters, filter trees and their error
 * messages all use this table.
 */
export const executionFields = {
  trace_id: { type: types.hexId, sql: 'lower(hex(trace_id))' },
  name: { type: types.text, sql: 'name' },
  status: { type: types.choice(['ok', 'error', 'unset']), sql: 'toString(status)' },
  started_at: { type: types.time, sql: 'start_unix_nano', sortable: true },
  ended_at: { type: types.time, sql: 'end_unix_nano' },
  // ClickHouse's difference is signed, but a duration can need all 64 bits.
  duration_ms: { type: types.duration, sql: 'toUInt64(end_unix_nano - start_unix_nano)', sortable: true },
  span_count: { type: types.count, sql: 'span_count' },
  error_count: { type: types.count, sql: 'error_count' },
  has_error: { type: types.flag, sql: "(error_count > 0 OR status = 'error')" },
  complete: { type: types.flag, sql: 'complete' },
  model: { type: types.texts, sql: 'models' },
  provider: { type: types.texts, sql: 'providers' },
  prompt_id: { type: types.promptId, sql: 'prompts' },
  prompt_version: { type: types.promptVersion, sql: 'prompts' },
  input_tokens: { type: types.count, sql: 'input_tokens' },
  output_tokens: { type: types.count, sql: 'output_tokens' },
  cache_read_tokens: { type: types.count, sql: 'cache_read_tokens' },
  cache_write_tokens: { type: types.count, sql: 'cache_write_tokens' },
  reasoning_tokens: { type: types.count, sql: 'reasoning_tokens' },
  total_tokens: { type: types.count, sql: 'total_tokens', sortable: true },
  cost: { type: types.money, sql: costSql, sortable: true },
  unpriced_spans: { type: types.count, sql: 'unpriced_spans' },
  session_id: { type: types.text, sql: 'session_id' },
  user_id: { type: types.text, sql: 'user_id' },
  environment: { type: types.text, sql: 'environment' },
  service: { type: types.text, sql: 'service' },
  tag: { type: types.texts, sql: 'tags' },
  // Feedback is stored in Postgres. `expandFeedback` replaces the field before it becomes SQL.
  has_feedback: { type: types.flag, sql: 'false' },
} as const satisfies Record<string, ExecutionField>;

export type FieldName = keyof typeof executionFields;

const sortable = Object.entries<ExecutionField>(executionFields).flatMap(([name, field]) =>
  field.sortable ? [name] : [],
);

/** Names that a list can be sorted by. A minus sign in front means descending order. */
export const sortNames = sortable.flatMap((name) => [`-${name}`, name]);

/** Returns the SQL and direction of one of {@link sortNames}. */
export function sortOf(name: string): { sql: string; direction: 'ASC' | 'DESC' } {
  const isDescending = name.startsWith('-');
  const key = isDescending ? name.slice(1) : name;
  const field = Object.entries<ExecutionField>(executionFields).find(([known]) => known === key)?.[1];
  if (field === undefined) throw new Error(`There is no field ${key}`);
  return { sql: field.sql, direction: isDescending ? 'DESC' : 'ASC' };
}

/** A filter on an attribute is named by this prefix and the attribute's key. */
export const attributePrefix = 'attr.';
