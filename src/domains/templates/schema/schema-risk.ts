import { hasAtMostValues } from '../../../lib/json-values.ts';

/** Largest schema taken; compiling one of this size takes some 100 ms, in a thread. */
export const schemaBytesMax = 65_536;

/** Keywords whose cost grows with the schema times the data and no faster. */
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

const inlineNodesMax = 100;
const inlineValuesMax = 2_000;

/**
 * Whether checking against this schema may happen on the event loop. `pattern`, `format` (regular expressions that may never
 * end), `$ref` (schemas that double themselves) and `uniqueItems` (quadratic) may not, nor may large schemas.
 */
export function isLinearSchema(schema: unknown): boolean {
  const open: unknown[] = [schema];
  let nodes = 0;
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (++nodes > inlineNodesMax) return false;
    if (typeof each !== 'object' || each === null) continue;
    for (const [keyword, value] of Object.entries(each)) {
      if (!linearKeywords.has(keyword)) return false;
      if (keyword === 'enum' && Array.isArray(value) && value.length > inlineNodesMax) return false;
      open.push(...subschemas(keyword, value));
    }
  }
  return true;
}

/** Whether there are few enough values for the event loop. */
export function isSmallData(data: unknown): boolean {
  return hasAtMostValues(data, inlineValuesMax);
}

function subschemas(keyword: string, value: unknown): unknown[] {
  if (keyword === 'properties') return typeof value === 'object' && value !== null ? Object.values(value) : [];
  if (keyword === 'additionalProperties' || keyword === 'items' || keyword === 'not') return [value];
  if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf') return Array.isArray(value) ? value : [];
  return [];
}
