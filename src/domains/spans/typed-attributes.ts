import { anyValueToJson } from '../../otlp/any-value-json.ts';
import type { Attributes } from '../../otlp/span.ts';
import type { Entries } from '../../stores/clickhouse/native-columns.ts';
import type { NormalizedSpan } from './normalized-span.ts';

/**
 * Attributes by the column that stores them: one for each scalar OTLP type. Other values are
 * OTLP/JSON.
 */
export interface TypedAttributes {
  /** The key of an attribute whose value is the input of the span, which stores the text; '' for none. */
  inputKey: string;
  /** The same for the output. */
  outputKey: string;
  string: Entries<string>;
  int: Entries<bigint>;
  double: Entries<number>;
  bool: Entries<boolean>;
  other: Entries<string>;
}

/** Characters of a text that is worth a reference. The hashes of attributes rely on it (`create_spans`). */
const referredCharsMin = 21;

/**
 * Sorts the attributes into their columns in one pass. Most spans have at most three types. An
 * attribute whose value is the input or the output is only named.
 */
export function typeAttributes(
  attributes: Attributes,
  { input, output }: Pick<NormalizedSpan, 'input' | 'output'>,
): TypedAttributes {
  const typed: TypedAttributes = {
    inputKey: '',
    outputKey: '',
    string: none,
    int: none,
    double: none,
    bool: none,
    other: none,
  };
  // `forEach`, because an iterator would create an array for every entry.
  attributes.forEach((value, key) => {
    if (typeof value === 'string') {
      const isReferable = value.length >= referredCharsMin && key !== '';
      if (isReferable && typed.inputKey === '' && value === input) typed.inputKey = key;
      else if (isReferable && typed.outputKey === '' && value === output) typed.outputKey = key;
      else typed.string = put(typed.string, key, value);
    } else if (typeof value === 'bigint') typed.int = put(typed.int, key, value);
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
