import { hasAtMostValues } from '../../../lib/json-values.ts';
import { sizesOf } from './variable-sizes.ts';

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

const inlineNodesMax = 100;
const inlineValuesMax = 2_000;
/** Schemas, required names and values of `enum`. Compiling so many takes about 10 ms: Ajv writes code for each. */
const inlineCompiledMax = 200;
/** Schemas, required names and values of `enum`, times values of the variables. This many checks take about 10 ms. */
const inlineChecksMax = 50_000;
/** Characters that are counted for `minLength` and `maxLength`, or that the paths of faults can have. This many take about 10 ms. */
const inlineCharactersMax = 4_000_000;

/** What a check against a schema costs for each value, and for each character. */
interface SchemaCost {
  /** Schemas, required names and values of `enum`. */
  checks: number;
  /** Limits of the length of a text. */
  lengths: number;
}

/**
 * Returns whether variables may be checked on the event loop. Those with large schemas or many values
 * may not. Neither may schemas with `pattern` and `format` (regular expressions that may never end),
 * `$ref` (schemas that grow exponentially), `uniqueItems` (quadratic), and a `default` with values (in lists, they
 * multiply).
 */
export function isQuickCheck(schema: unknown, variables: unknown): boolean {
  const cost = linearCostOf(schema);
  if (cost === undefined || cost.checks > inlineCompiledMax) return false;
  if (!hasAtMostValues(variables, Math.min(inlineValuesMax, inlineChecksMax / cost.checks))) return false;
  const { values, textCharacters, longestPath } = sizesOf(variables);
  // Ajv creates the path of a fault anew for every fault.
  if (cost.checks * values * longestPath > inlineCharactersMax) return false;
  return cost.lengths * textCharacters <= inlineCharactersMax;
}

/** Returns undefined for a schema that is too large, or whose cost may not grow linearly. */
function linearCostOf(schema: unknown): SchemaCost | undefined {
  const open: unknown[] = [schema];
  const cost = { checks: 0, lengths: 0 };
  let nodes = 0;
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (++nodes > inlineNodesMax) return undefined;
    if (typeof each !== 'object' || each === null) continue;
    for (const [keyword, value] of Object.entries(each)) {
      if (!linearKeywords.has(keyword)) return undefined;
      if (keyword === 'enum' && Array.isArray(value) && value.length > inlineNodesMax) return undefined;
      // Each object gets a copy of its own, which other defaults fill.
      if (keyword === 'default' && !isSmallDefault(value)) return undefined;
      if ((keyword === 'required' || keyword === 'enum') && Array.isArray(value)) cost.checks += value.length;
      if (keyword === 'minLength' || keyword === 'maxLength') cost.lengths++;
      open.push(...subschemas(keyword, value));
    }
  }
  return { ...cost, checks: cost.checks + nodes };
}

/** Tells whether a default is a text, a number, or empty. */
const isSmallDefault = (value: unknown) => hasAtMostValues(value, 1);

function subschemas(keyword: string, value: unknown): unknown[] {
  if (keyword === 'properties') return typeof value === 'object' && value !== null ? Object.values(value) : [];
  if (keyword === 'additionalProperties' || keyword === 'items' || keyword === 'not') return [value];
  if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf') return Array.isArray(value) ? value : [];
  return [];
}
