import { anyValueToJson } from '../../otlp/any-value-json.ts';
import type { Attributes } from '../../otlp/span.ts';
import type { Entries } from '../../stores/clickhouse/native-columns.ts';

/**
 * Attributes by the column that stores them: one for each scalar OTLP type. Other values are
 * OTLP/JSON.
 */
export interface TypedAttributes {
  string: Entries<string>;
  int: Entries<bigint>;
  double: Entries<number>;
  bool: Entries<boolean>;
  other: Entries<string>;
}

/** Sorts the attributes into their columns in one pass. Most spans have at most three types. */
export function typeAttributes(attributes: Attributes): TypedAttributes {
  const typed: TypedAttributes = { string: none, int: none, double: none, bool: none, other: none };
  // `forEach`, because an iterator would create an array for every entry.
  attributes.forEach((value, key) => {
    if (typeof value === 'string') typed.string = put(typed.string, key, value);
    else if (typeof value === 'bigint') typed.int = put(typed.int, key, value);
    else if (typeof value === 'number') typed.double = put(typed.double, key, value);
    else if (typeof value === 'boolean') typed.bool = put(typed.bool, key, value);
    else typed.other = put(typed.other, key, anyValueToJson(value));
  });
  return typed;
}

const none: Entries<never> = { keys: [], values: [] };

interface MutableEntries<Value> extends Entries<Value> {
  keys: string[];
  values: Value[];
}

function put<Value>(to: Entries<Value>, key: string, value: Value): MutableEntries<Value> {
  if (to === none) return { keys: [key], values: [value] };
  const entries = to as MutableEntries<Value>;
  entries.keys.push(key);
  entries.values.push(value);
  return entries;
}
