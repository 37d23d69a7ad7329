import type { JsonObject, KnownFields } from './json-object.ts';

interface Context {
  /** For a request, only required fields and fields with an example; for a response, all fields. */
  io: 'input' | 'output';
  knownFields: KnownFields;
  resolve: (ref: string) => unknown;
  /** References that lead here. */
  within: readonly string[];
}

/**
 * Returns a value that fits a JSON Schema: its `example`, constant, default or first enum value,
 * else the smallest value of its type. Patterns are ignored: a schema with a pattern needs an
 * example, which a test over all contracts checks.
 */
export function exampleOf(schema: unknown, context: Context, field = '', depth = 0): unknown {
  if (!isObject(schema) || depth > depthMax) return null;
  const given = givenExample(schema, context, field);
  if (given !== undefined) return given;
  if (typeof schema.$ref === 'string') {
    const within = [...context.within, schema.$ref];
    return exampleOf(context.resolve(schema.$ref), { ...context, within }, field, depth);
  }
  const branch = firstBranch(schema);
  if (branch) return exampleOf(branch, context, field, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  const make = typeof type === 'string' ? makers[type] : undefined;
  return make ? make(schema, context, depth) : {};
}

const depthMax = 12;
const exampleTime = '2026-01-31T09:30:00.000Z';

function givenExample(schema: JsonObject, { knownFields }: Context, field: string): unknown {
  if ('example' in schema) return schema.example;
  if ('const' in schema) return schema.const;
  if ('default' in schema) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const isLeaf = schema.type !== 'object' && schema.type !== 'array' && schema.format === undefined;
  return isLeaf && Object.hasOwn(knownFields, field) ? knownFields[field]?.example : undefined;
}

/**
 * Returns the first alternative that is not null, so that nullable values are shown with a value.
 */
function firstBranch(schema: JsonObject): unknown {
  for (const key of ['anyOf', 'oneOf', 'allOf']) {
    const branches = schema[key];
    if (Array.isArray(branches)) return branches.find((branch) => !isObject(branch) || branch.type !== 'null');
  }
  return undefined;
}

const makers: Readonly<Record<string, (schema: JsonObject, context: Context, depth: number) => unknown>> = {
  object: objectExample,
  array: (schema, context, depth) => {
    if (Array.isArray(schema.prefixItems))
      return schema.prefixItems.map((item) => exampleOf(item, context, '', depth + 1));
    if (!isObject(schema.items)) return [];
    // Ends recursion: a list of what the example is already within stays empty.
    const isWithinItself = context.within.some((ref) => isObject(schema.items) && schema.items.$ref === ref);
    return isWithinItself ? [] : [exampleOf(schema.items, context, '', depth + 1)];
  },
  string: stringExample,
  integer: (schema) => Math.max(1, Number(schema.minimum ?? 1)),
  number: (schema) => Math.max(1, Number(schema.minimum ?? 1)),
  boolean: () => true,
  null: () => null,
};

function objectExample(schema: JsonObject, context: Context, depth: number): JsonObject {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const shown = properties.filter(
    ([name, property]) =>
      context.io === 'output' || required.includes(name) || (isObject(property) && 'example' in property),
  );
  // A body with only optional fields usually needs one of them.
  const fields = (shown.length > 0 ? shown : properties.slice(0, 1)).map(([name, property]) => [
    name,
    exampleOf(property, context, name, depth + 1),
  ]);
  const names = isObject(schema.propertyNames) ? schema.propertyNames.enum : undefined;
  if (Array.isArray(names) && isObject(schema.additionalProperties)) {
    const value = exampleOf(schema.additionalProperties, context, '', depth + 1);
    fields.push(...names.map((name) => [name, value]));
  }
  return Object.fromEntries(fields);
}

function stringExample({ format, minLength = 0 }: JsonObject): string {
  const text = typeof format === 'string' ? (byFormat[format] ?? 'text') : 'text';
  return text.padEnd(Number(minLength), 't');
}

const byFormat: Readonly<Record<string, string>> = {
  'date-time': exampleTime,
  date: exampleTime.slice(0, 10),
  uri: 'https://example.com/hook',
  email: 'ada@example.com',
  uuid: '7f1c2a52-5d0e-4f8e-9a61-3f7d1c0b9e44',
};

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
