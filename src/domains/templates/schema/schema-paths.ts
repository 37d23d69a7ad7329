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

/** Whether a render would find something at the path although it was not given. */
export function hasDefault(schema: unknown, path: readonly string[]): boolean {
  let at = schema;
  for (const [index, segment] of path.entries()) {
    const properties = isObject(at) ? at.properties : undefined;
    at = isObject(properties) && Object.hasOwn(properties, segment) ? properties[segment] : undefined;
    if (isObject(at) && at.default !== undefined) return reaches(at.default, path.slice(index + 1));
  }
  return false;
}

/** Whether the schema refuses what lacks the path, wherever the object around it is given. */
export function isRequiredBy(schema: unknown, path: readonly string[]): boolean {
  const parent = schemaAt(schema, path.slice(0, -1));
  return isObject(parent) && Array.isArray(parent.required) && parent.required.includes(path.at(-1));
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
    if (!isObject(at)) continue;
    for (const name of Array.isArray(at.required) ? at.required : []) {
      if (typeof name === 'string' && !hasDefault(schema, [...path, name])) paths.add([...path, name].join('.'));
    }
    if (path.length >= templateLimits.nameSegmentsMax || !isObject(at.properties)) continue;
    for (const [name, below] of Object.entries(at.properties)) {
      if (++properties <= propertiesMax) open.push({ at: below, path: [...path, name] });
    }
  }
  return [...paths];
}

/** The schema says nothing of properties, or leaves them to something that is not followed here. */
function isOpen(schema: Record<string, unknown>): boolean {
  const elsewhere = ['$ref', '$dynamicRef', 'anyOf', 'oneOf', 'allOf', 'if', 'patternProperties'];
  return schema.properties === undefined ? schema.type !== 'array' : elsewhere.some((keyword) => keyword in schema);
}

function reaches(value: unknown, path: readonly string[]): boolean {
  let at = value;
  for (const segment of path) {
    if (!isObject(at) || !Object.hasOwn(at, segment)) return false;
    at = at[segment];
  }
  return at !== null && at !== undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
