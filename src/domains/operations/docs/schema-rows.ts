/** One field of a schema, as a table row. */
export interface SchemaRow {
  /** Path from the root, such as `data[].usage.input_tokens`. */
  path: string;
  type: string;
  required: boolean;
  description: string;
}

type Schema = Readonly<Record<string, unknown>>;
type Resolve = (reference: string) => unknown;

/** Returns all fields of a JSON Schema, outer ones first. A recursive schema is shown once. */
export function schemaRows(schema: unknown, resolve: Resolve): SchemaRow[] {
  return below('', deref(schema, resolve, []), resolve, []);
}

/**
 * Returns the type as text: `string`, `integer 1..100`, `"ok" | "error"`, `string or null`, `array
 * of …`.
 */
export function typeText(schema: unknown, resolve: Resolve): string {
  if (!isSchema(schema)) return 'any';
  if (typeof schema.$ref === 'string') return typeText(resolve(schema.$ref), resolve);
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const branches = branchesOf(schema);
  if (branches) return [...new Set(branches.map((branch) => typeText(branch, resolve)))].join(' or ');
  if (schema.type === 'array') return `array of ${typeText(schema.items, resolve)}`;
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : String(schema.type ?? 'any');
  return [type, schema.format, boundsText(schema), defaultText(schema)].filter(Boolean).join(' ');
}

function below(path: string, schema: Schema | undefined, resolve: Resolve, seen: readonly string[]): SchemaRow[] {
  if (!schema) return [];
  const branches = branchesOf(schema);
  if (branches) {
    const rows = branches.flatMap((branch) => descend(path, branch, resolve, seen));
    return rows.filter((row, index) => rows.findIndex((other) => other.path === row.path) === index);
  }
  if (schema.type === 'array') return descend(`${path}[]`, schema.items, resolve, seen);
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(isSchema(schema.properties) ? schema.properties : {}).flatMap(([name, property]) => {
    const here = path === '' ? name : `${path}.${name}`;
    const description = isSchema(property) && typeof property.description === 'string' ? property.description : '';
    const row = { path: here, type: typeText(property, resolve), required: required.includes(name), description };
    return [row, ...descend(here, property, resolve, seen)];
  });
}

function descend(path: string, schema: unknown, resolve: Resolve, seen: readonly string[]): SchemaRow[] {
  const reference = isSchema(schema) && typeof schema.$ref === 'string' ? schema.$ref : undefined;
  if (reference === undefined) return below(path, isSchema(schema) ? schema : undefined, resolve, seen);
  return below(path, deref(schema, resolve, seen), resolve, [...seen, reference]);
}

function deref(schema: unknown, resolve: Resolve, seen: readonly string[]): Schema | undefined {
  if (!isSchema(schema)) return undefined;
  if (typeof schema.$ref !== 'string') return schema;
  return seen.includes(schema.$ref) ? undefined : deref(resolve(schema.$ref), resolve, [...seen, schema.$ref]);
}

function branchesOf({ anyOf, oneOf, allOf }: Schema): readonly unknown[] | undefined {
  return [anyOf, oneOf, allOf].find((branches) => Array.isArray(branches));
}

function boundsText({ minimum, maximum, minLength, maxLength }: Schema): string {
  if (maxLength !== undefined) return `of ${minLength ?? 0}..${maxLength} characters`;
  // zod writes the range of safe integers when a schema has no bounds.
  const [low, high] = [minimum, maximum].map((bound) => (Math.abs(Number(bound)) < 2 ** 53 - 1 ? bound : undefined));
  return low === undefined && high === undefined ? '' : `${low ?? ''}..${high ?? ''}`;
}

function defaultText(schema: Schema): string {
  return 'default' in schema ? `= ${JSON.stringify(schema.default)}` : '';
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
