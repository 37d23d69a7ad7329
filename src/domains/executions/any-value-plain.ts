/**
 * JSON form of OTLP/JSON values. Integers beyond 2^53 are decimal strings, bytes are base64, and
 * special doubles are their names.
 */
export type Plain = string | number | boolean | null | Plain[] | { [key: string]: Plain };

/**
 * Converts an OTLP/JSON list `[{"key":..,"value":{..}}]` to an object. The object has no prototype,
 * because a key such as `__proto__` is data.
 */
export function plainFromKeyValues(list: unknown): { [key: string]: Plain } {
  const object: { [key: string]: Plain } = Object.create(null);
  for (const item of asArray(list)) {
    const { key, value } = asRecord(item);
    if (typeof key === 'string') object[key] = plainFromAnyValue(value);
  }
  return object;
}

/**
 * Converts one AnyValue. Recursion is safe because ingestion limits stored values to 100 levels.
 */
export function plainFromAnyValue(value: unknown): Plain {
  const record = asRecord(value);
  if (typeof record.stringValue === 'string') return record.stringValue;
  if (typeof record.boolValue === 'boolean') return record.boolValue;
  if (typeof record.intValue === 'string') return plainFromInt(record.intValue);
  if (typeof record.doubleValue === 'number' || typeof record.doubleValue === 'string') return record.doubleValue;
  if (typeof record.bytesValue === 'string') return record.bytesValue;
  if (record.arrayValue !== undefined) return asArray(asRecord(record.arrayValue).values).map(plainFromAnyValue);
  if (record.kvlistValue !== undefined) return plainFromKeyValues(asRecord(record.kvlistValue).values);
  return null;
}

/**
 * Converts a 64-bit decimal integer to a number if that is exact, and returns the text otherwise.
 */
export function plainFromInt(decimal: string): number | string {
  const number = Number(decimal);
  return Number.isSafeInteger(number) ? number : decimal;
}

/** Returns the OTLP type of an attribute value that is stored as JSON in `attributes_other`. */
export function typeOfAnyValue(value: unknown): 'bytes' | 'array' | 'kvlist' | 'empty' {
  const record = asRecord(value);
  if (record.bytesValue !== undefined) return 'bytes';
  if (record.arrayValue !== undefined) return 'array';
  return record.kvlistValue !== undefined ? 'kvlist' : 'empty';
}

/** Returns the value if it is an object, and an empty object otherwise. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Returns the value if it is an array, and an empty array otherwise. */
export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
