import fc from 'fast-check';
import type { JsonSchema } from '../openapi.ts';

/** Values for properties by their name. They replace the values of the schema. */
export type Hints = Readonly<Record<string, fc.Arbitrary<unknown>>>;

const itemsMax = 4;
const textCharsMax = 40;

/**
 * Values that the schema allows, with exceptions: of the formats, only `date-time` is followed, and
 * `propertyNames` is not followed.
 */
export function validFor(schema: JsonSchema, hints: Hints): fc.Arbitrary<unknown> {
  const drawn = arbitraryFor(schema, hints);
  return schema.example === undefined
    ? drawn
    : fc.oneof({ arbitrary: drawn, weight: 4 }, { arbitrary: fc.constant(schema.example), weight: 1 });
}

function arbitraryFor(schema: JsonSchema, hints: Hints): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => validFor(choice, hints)));
  const types = [schema.type ?? 'any'].flat();
  return fc.oneof(...types.map((type) => (byType[type] ?? anyJson)(schema, hints)));
}

const anyJson = () => fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>;

const byType: Readonly<Record<string, (schema: JsonSchema, hints: Hints) => fc.Arbitrary<unknown>>> = {
  string: textFor,
  integer: ({ minimum = -(2 ** 31), maximum = 2 ** 31 }) =>
    fc.integer({ min: clamped(minimum), max: clamped(maximum) }),
  number: ({ minimum, maximum }) =>
    fc.double({
      noNaN: true,
      noDefaultInfinity: true,
      ...(minimum !== undefined && { min: minimum }),
      ...(maximum !== undefined && { max: maximum }),
    }),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: ({ items = {}, minItems = 0, maxItems = itemsMax }, hints) =>
    fc.array(validFor(items, hints), {
      minLength: minItems,
      maxLength: Math.max(minItems, Math.min(maxItems, itemsMax)),
    }),
  object: objectFor,
};

const clamped = (bound: number) => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, bound));

function textFor({ pattern, format, minLength = 0, maxLength = textCharsMax }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc
      .date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((at) => at.toISOString());
  const plain = fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, textCharsMax)) });
  if (pattern === undefined) return plain;
  try {
    return fc.stringMatching(new RegExp(pattern), { maxLength: Math.max(minLength, maxLength) });
  } catch {
    return plain; // fast-check does not support every kind of assertion.
  }
}

function objectFor(
  { properties = {}, required = [], additionalProperties }: JsonSchema,
  hints: Hints,
): fc.Arbitrary<unknown> {
  const members = Object.entries(properties).map(
    ([name, schema]) => [name, hints[name] ?? validFor(schema, hints)] as const,
  );
  const all = fc.record(Object.fromEntries(members), { requiredKeys: [...required] });
  // Some members exclude each other. With few members, more values are accepted.
  const few = fc.subarray(members, { maxLength: Math.min(2, members.length) }).chain((some) => {
    const needed = members.filter(([name]) => required.includes(name));
    return fc.record(Object.fromEntries([...needed, ...some]));
  });
  const known = fc.oneof(few, all);
  if (typeof additionalProperties !== 'object') return known;
  const others = fc.dictionary(fc.constantFrom('a', 'b', 'model', 'tone'), validFor(additionalProperties, hints), {
    maxKeys: 3,
  });
  return fc.tuple(others, known).map(([some, more]) => ({ ...some, ...more }));
}
