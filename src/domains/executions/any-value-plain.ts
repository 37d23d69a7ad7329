/** Plain JSON of OTLP/JSON values: integers beyond 2^53 as decimal strings, bytes as base64, special doubles by name. */
export type Plain = string | number | boolean | null | Plain[] | { [key: string]: Plain };

/** `[{"key":..,"value":{..}}]` as an object. Its prototype is null, because keys such as `__proto__` are data. */
export function plainFromKeyValues(list: unknown): { [key: string]: Plain } {
  const object: { [key: string]: Plain } = Object.create(null);
  for (const item of asArray(list)) {
    const { key, value } = asRecord(item);
    if (typeof key === 'string') object[key] = plainFromAnyValue(value);
  }
  return object;
}

/** One AnyValue. The depth of what is stored was bounded when it came in (100 levels), so recursion is safe. */
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

/** A 64-bit integer given in decimal: a number where that is exact. */
export function plainFromInt(decimal: string): number | string {
  const number = Number(decimal);
  return Number.isSafeInteger(number) ? number : decimal;
}

/** The OTLP type of a stored value that no column of its own tells. */
export function typeOfAnyValue(value: unknown): 'bytes' | 'array' | 'kvlist' | 'empty' {
  const record = asRecord(value);
  if (record.bytesValue !== undefined) return 'bytes';
  if (record.arrayValue !== undefined) return 'array';
  return record.kvlistValue !== undefined ? 'kvlist' : 'empty';
}

export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
