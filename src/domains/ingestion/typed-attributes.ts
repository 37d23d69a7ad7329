import type { Entries } from '../../stores/clickhouse/native-columns.ts';
import { anyValueToJson } from './otlp/any-value-json.ts';
import type { Attributes } from './otlp/span.ts';

/** Attributes by the column they are stored in: one for each OTLP type, the rest written out as OTLP/JSON. */
export interface TypedAttributes {
  string: Entries<string>;
  int: Entries<bigint>;
  double: Entries<number>;
  bool: Entries<boolean>;
  other: Entries<string>;
}

/** One walk over the attributes for all of their columns. */
export function typeAttributes(attributes: Attributes): TypedAttributes {
  const typed = {
    string: entries<string>(),
    int: entries<bigint>(),
    double: entries<number>(),
    bool: entries<boolean>(),
    other: entries<string>(),
  };
  for (const [key, value] of attributes) {
    if (typeof value === 'string') put(typed.string, key, value);
    else if (typeof value === 'bigint') put(typed.int, key, value);
    else if (typeof value === 'number') put(typed.double, key, value);
    else if (typeof value === 'boolean') put(typed.bool, key, value);
    else put(typed.other, key, anyValueToJson(value));
  }
  return typed;
}

interface MutableEntries<Value> {
  keys: string[];
  values: Value[];
}

function entries<Value>(): MutableEntries<Value> {
  return { keys: [], values: [] };
}

function put<Value>(to: MutableEntries<Value>, key: string, value: Value): void {
  to.keys.push(key);
  to.values.push(value);
}
