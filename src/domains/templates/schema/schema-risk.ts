import { hasAtMostValues } from '../../../lib/json-values.ts';

/**
 * Bytes of the largest schema accepted. Compiling one of this size takes about 100 ms in a worker
 * thread.
 */
export const schemaBytesMax = 65_536;

/** Keywords whose cost grows at most with the size of the schema times the size of the data. */
const linearKeywords = new Set([
  ...[
    '$schema',
    '$id',
    '$comment',
    'title',
    'description',
    'examples',
    'default',
    'deprecated',
    'readOnly',
    'writeOnly',
  ],
  ...['type', 'enum', 'const', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'required'],
  ...['properties', 'additionalProperties', 'items', 'anyOf', 'oneOf', 'allOf', 'not'],
]);

/** Ajv may make an error for each node and each value: of so many, they take about 30 ms. */
const inlineNodesMax = 100;
const inlineValuesMax = 1_000;

/**
 * Returns whether checking against this schema may run on the event loop. Large schemas may not; names that are
 * required and values of an `enum` count as nodes.
 * Neither may `pattern` and `format` (regular expressions that may never end), `$ref` (schemas that
 * grow exponentially) and `uniqueItems` (quadratic).
 */
export function isLinearSchema(schema: unknown): boolean {
  const open: unknown[] = [schema];
  let nodes = 0;
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (++nodes > inlineNodesMax) return false;
    if (typeof each !== 'object' || each === null) continue;
    for (const [keyword, value] of Object.entries(each)) {
      if (!linearKeywords.has(keyword)) return false;
      if (Array.isArray(value)) nodes += value.length;
      if (nodes > inlineNodesMax) return false;
      for (const inner of subschemas(keyword, value)) open.push(inner);
    }
  }
  return true;
}

/** Returns whether data has few enough values to be checked on the event loop. */
export function isSmallData(data: unknown): boolean {
  return hasAtMostValues(data, inlineValuesMax);
}

function subschemas(keyword: string, value: unknown): unknown[] {
  if (keyword === 'properties') return typeof value === 'object' && value !== null ? Object.values(value) : [];
  if (keyword === 'additionalProperties' || keyword === 'items' || keyword === 'not') return [value];
  if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf') return Array.isArray(value) ? value : [];
  return [];
}
