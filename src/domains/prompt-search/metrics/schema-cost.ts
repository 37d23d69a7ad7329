/** Keywords whose subschemas check the same value, and those whose subschemas check a part of it. */
const sameValue = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas']);
const partOfValue = new Set([
  ...['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems', 'contains', 'propertyNames'],
  ...['unevaluatedProperties', 'unevaluatedItems', 'additionalItems'],
]);
/** Depths of a value that are looked at: references that multiply do so within them. */
const depthMax = 12;

/**
 * Returns how many subschemas check one value at most, or more than `most` if they are more. References
 * within a document can make them grow exponentially with the depth of the value.
 */
export function checksPerValue(root: Record<string, unknown>, most: number): number {
  let left = most * 20;
  const known = new Map<object, number[]>();
  const references = collectTargets(root);

  function count(schema: unknown, depth: number, open: readonly object[]): number {
    if (typeof schema !== 'object' || schema === null) return 0;
    if (open.includes(schema) || --left < 0) return most + 1;
    const counts = known.get(schema) ?? [];
    const found = counts[depth] ?? Math.min(most + 1, countApplied(schema, depth, [...open, schema]));
    counts[depth] = found;
    known.set(schema, counts);
    return found;
  }

  function countApplied(schema: object, depth: number, open: readonly object[]): number {
    let same = depth === 0 ? 1 : 0;
    let part = 0;
    for (const [keyword, value] of Object.entries(schema)) {
      if (sameValue.has(keyword)) {
        for (const each of subschemasOf(value)) same += count(each, depth, open);
      } else if (keyword === '$ref' || keyword === '$dynamicRef') same += count(references(value), depth, open);
      else if (depth > 0 && partOfValue.has(keyword)) {
        for (const each of subschemasOf(value)) part = Math.max(part, count(each, depth - 1, []));
      }
    }
    return same + part;
  }

  let largest = 0;
  for (let depth = 0; depth <= depthMax && largest <= most; depth++)
    largest = Math.max(largest, count(root, depth, []));
  return largest;
}

/** Returns the subschemas of a keyword: of a list, of a map of schemas, or the one schema. */
function subschemasOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value)];
}

/** Returns a function that finds what a reference names: by pointer, `$anchor` or `$id`. */
function collectTargets(root: Record<string, unknown>): (reference: unknown) => unknown {
  const named = new Map<string, unknown>([['#', root]]);
  const open: { at: unknown; pointer: string }[] = [{ at: root, pointer: '#' }];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const { at, pointer } = each;
    if (typeof at !== 'object' || at === null) continue;
    named.set(pointer, at);
    for (const [key, value] of Object.entries(at)) {
      if (key === '$id' && typeof value === 'string') named.set(value, at);
      if ((key === '$anchor' || key === '$dynamicAnchor') && typeof value === 'string') named.set(`#${value}`, at);
      open.push({ at: value, pointer: `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` });
    }
  }
  return (reference) => (typeof reference === 'string' ? named.get(reference) : undefined);
}
