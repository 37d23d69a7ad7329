import { templateLimits } from '../limits.ts';

/** The schema of one variable, through `properties`; undefined when it is not declared, null when anything may be there. */
export function schemaAt(schema: unknown, path: readonly string[]): unknown {
  let at = schema;
  for (const segment of path) {
    if (!isObject(at)) return at === true ? null : undefined;
    const properties = at.properties;
    const found = isObject(properties) && Object.hasOwn(properties, segment) ? properties[segment] : undefined;
    if (found === undefined) return isOpen(at) ? null : undefined;
    at = found;
  }
  return at;
}

/** Whether a render would find something at the path although it was not given, where the object around it is. */
export function hasDefault(schema: unknown, path: readonly string[]): boolean {
  let at = [schema];
  for (const [index, segment] of path.entries()) {
    at = propertyOf(schema, at, segment);
    const filled = at.filter(isObject).find((each) => each.default !== undefined);
    if (filled !== undefined) return reaches(schema, at, filled.default, path.slice(index + 1));
  }
  return false;
}

/** Whether the schema refuses what lacks the path, wherever the object around it is given. */
export function isRequiredBy(schema: unknown, path: readonly string[]): boolean {
  let at = [schema];
  for (const segment of path.slice(0, -1)) at = propertyOf(schema, at, segment);
  return at
    .flatMap((each) => appliedBy(schema, each))
    .some(({ required }) => Array.isArray(required) && required.includes(path.at(-1)));
}

/** More properties than this of one schema are not looked at. */
const propertiesMax = 1_000;

/** Paths without which the schema refuses the variables, where the object around them is given. */
export function requiredPaths(schema: unknown): string[] {
  const paths = new Set<string>();
  const open: { at: unknown; path: string[] }[] = [{ at: schema, path: [] }];
  let properties = 0;
  for (let each = open.shift(); each !== undefined; each = open.shift()) {
    const { at, path } = each;
    for (const applied of appliedBy(schema, at)) {
      for (const name of Array.isArray(applied.required) ? applied.required : []) {
        if (paths.size >= propertiesMax) return [...paths];
        if (typeof name === 'string' && !hasDefault(schema, [...path, name])) paths.add([...path, name].join('.'));
      }
      if (path.length >= templateLimits.nameSegmentsMax || !isObject(applied.properties)) continue;
      for (const [name, below] of Object.entries(applied.properties)) {
        if (++properties <= propertiesMax) open.push({ at: below, path: [...path, name] });
      }
    }
  }
  return [...paths];
}

/** Nobody's schema of one value is made of more; what is beyond is not followed. */
const appliedMax = 8;

/** By the schema they belong to, which is looked at again for every variable. */
const appliedKept = new WeakMap<object, readonly Record<string, unknown>[]>();

/** All schemas that hold where this one does: itself, what its `$ref` within the document names, and `allOf`. */
function appliedBy(root: unknown, schema: unknown): readonly Record<string, unknown>[] {
  if (!isObject(schema)) return [];
  const kept = appliedKept.get(schema);
  if (kept !== undefined) return kept;
  const applied = new Set<Record<string, unknown>>();
  const open: unknown[] = [schema];
  while (open.length > 0 && applied.size < appliedMax) {
    const each = open.shift();
    if (!isObject(each) || applied.has(each)) continue;
    applied.add(each);
    if (typeof each.$ref === 'string') open.push(referredBy(root, each.$ref));
    if (Array.isArray(each.allOf)) open.push(...each.allOf.slice(0, appliedMax));
  }
  const found = [...applied];
  appliedKept.set(schema, found);
  return found;
}

/** What a JSON pointer in a fragment names (RFC 6901, 6); undefined for any other reference. */
function referredBy(root: unknown, reference: string): unknown {
  if (!/^#(?:\/|$)/.test(reference) || /%(?![0-9A-Fa-f]{2})/.test(reference)) return undefined;
  let at = root;
  for (const token of reference.slice(1).split('/').slice(1)) {
    const key = token
      .replace(/(?:%[0-9A-Fa-f]{2})+/g, unescapePercent)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

const unescapePercent = (bytes: string) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString();

/** What is said of a property by all of the schemas. */
function propertyOf(root: unknown, schemas: readonly unknown[], name: string): unknown[] {
  const found = new Set<unknown>();
  for (const schema of schemas) {
    for (const { properties } of appliedBy(root, schema)) {
      if (isObject(properties) && Object.hasOwn(properties, name)) found.add(properties[name]);
      if (found.size >= appliedMax) return [...found];
    }
  }
  return [...found];
}

/** The schema says nothing of properties, or leaves them to something that is not followed here. */
function isOpen(schema: Record<string, unknown>): boolean {
  const elsewhere = ['$ref', '$dynamicRef', 'anyOf', 'oneOf', 'allOf', 'if', 'patternProperties'];
  return schema.properties === undefined ? schema.type !== 'array' : elsewhere.some((keyword) => keyword in schema);
}

/** Within a default, which ajv completes by the defaults of what it lacks. */
function reaches(root: unknown, schemas: readonly unknown[], value: unknown, path: readonly string[]): boolean {
  let [at, described] = [value, schemas];
  for (const segment of path) {
    if (!isObject(at)) return false;
    described = propertyOf(root, described, segment);
    const own = Object.hasOwn(at, segment) ? at[segment] : undefined;
    // null is a value, which no default replaces.
    at = own !== undefined ? own : described.filter(isObject).find((each) => each.default !== undefined)?.default;
  }
  return at !== null && at !== undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
