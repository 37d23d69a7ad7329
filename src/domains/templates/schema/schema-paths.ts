import { templateLimits } from '../limits.ts';

/**
 * Returns the schema of one variable, following `properties`. Returns undefined when the variable
 * is not declared, and null when the schema allows anything there.
 */
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

/**
 * Returns whether a default gives the path a value when it is absent and the object around it is
 * present.
 */
export function hasDefault(schema: unknown, path: readonly string[]): boolean {
  let at = [schema];
  for (const [index, segment] of path.entries()) {
    at = propertyOf(schema, at, segment);
    const filled = at.filter(isObject).find((each) => each.default !== undefined);
    if (filled !== undefined) return reaches(schema, at, filled.default, path.slice(index + 1));
  }
  return false;
}

/** Returns whether the schema refuses an object that lacks the last segment of the path. */
export function isRequiredBy(schema: unknown, path: readonly string[]): boolean {
  let at = [schema];
  for (const segment of path.slice(0, -1)) at = propertyOf(schema, at, segment);
  return at
    .flatMap((each) => appliedBy(schema, each))
    .some(({ required }) => Array.isArray(required) && namesIn(required).has(path.at(-1)));
}

/** Names by the list of `required`, because each list is searched again for every variable. */
const namesKept = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

function namesIn(required: readonly unknown[]): ReadonlySet<unknown> {
  const names = namesKept.get(required) ?? new Set(required);
  namesKept.set(required, names);
  return names;
}

/** Properties of one schema that are searched. */
const propertiesMax = 1_000;
/** Characters of the paths that one schema requires. */
const pathCharsMax = 131_072;
/** Segments of the names that are looked at: a `$ref` lets each property require the same names. They take about 10 ms. */
const lookedAtMax = 10_000;

/**
 * Returns the paths that the schema requires, where the object around them is present. A template
 * cannot use a longer name than `nameCharactersMax`, so such paths are not followed.
 */
export function requiredPaths(schema: unknown): string[] {
  const paths = new Set<string>();
  const open: { at: unknown; path: string[] }[] = [{ at: schema, path: [] }];
  let properties = 0;
  let chars = 0;
  let lookedAt = 0;
  for (let each = open.shift(); each !== undefined; each = open.shift()) {
    const { at, path } = each;
    for (const applied of appliedBy(schema, at)) {
      for (const name of Array.isArray(applied.required) ? applied.required : []) {
        lookedAt += path.length + 1;
        if (lookedAt > lookedAtMax) return [...paths];
        if (!isShort(name) || hasDefault(schema, [...path, name])) continue;
        const required = [...path, name].join('.');
        chars += required.length;
        if (paths.size >= propertiesMax || chars > pathCharsMax) return [...paths];
        paths.add(required);
      }
      const isFull = properties >= propertiesMax || path.length >= templateLimits.nameSegmentsMax;
      if (isFull || !isObject(applied.properties)) continue;
      for (const [name, below] of Object.entries(applied.properties)) {
        if (isShort(name) && ++properties <= propertiesMax) open.push({ at: below, path: [...path, name] });
      }
    }
  }
  return [...paths];
}

const isShort = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= templateLimits.nameCharactersMax;

/** Schemas followed for one value. Real schemas combine fewer; the rest is not followed. */
const appliedMax = 8;

/** Results of `appliedBy` by schema, because each schema is visited again for every variable. */
const appliedKept = new WeakMap<object, readonly Record<string, unknown>[]>();

/**
 * Returns all schemas that apply together with this one: itself, the target of its `$ref` within
 * the document, and `allOf`.
 */
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

/**
 * Resolves a JSON pointer in a fragment (RFC 6901, section 6); returns undefined for any other
 * reference.
 */
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

/** Returns what the schemas together say about a property. */
function propertyOf(root: unknown, schemas: readonly unknown[], name: string): unknown[] {
  const found = new Set<unknown>();
  let visited = 0;
  for (const schema of schemas) {
    for (const { properties } of appliedBy(root, schema)) {
      if (isObject(properties) && Object.hasOwn(properties, name)) found.add(properties[name]);
      if (++visited >= 2 * appliedMax || found.size >= appliedMax) return [...found];
    }
  }
  return [...found];
}

/**
 * Returns whether a schema says nothing about properties, or defines them with a keyword that is not
 * followed here.
 */
function isOpen(schema: Record<string, unknown>): boolean {
  const elsewhere = ['$ref', '$dynamicRef', 'anyOf', 'oneOf', 'allOf', 'if', 'patternProperties'];
  return schema.properties === undefined ? schema.type !== 'array' : elsewhere.some((keyword) => keyword in schema);
}

/**
 * Returns whether a path inside a default has a value. Ajv completes a default with the nested
 * defaults.
 */
function reaches(root: unknown, schemas: readonly unknown[], value: unknown, path: readonly string[]): boolean {
  let [at, described] = [value, schemas];
  for (const segment of path) {
    if (!isObject(at)) return false;
    described = propertyOf(root, described, segment);
    const own = Object.hasOwn(at, segment) ? at[segment] : undefined;
    // null is a value, so no default replaces it.
    at = own !== undefined ? own : described.filter(isObject).find((each) => each.default !== undefined)?.default;
  }
  return at !== null && at !== undefined;
}

/** Returns whether a value is an object and not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
