import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  checkInputSchema,
  TemplateThreads,
  TokenCounter,
  validateVariables,
} from '../../../src/domains/templates/index.ts';
import { requiredPaths } from '../../../src/domains/templates/schema/schema-paths.ts';
import { isQuickCheck } from '../../../src/domains/templates/schema/schema-risk.ts';
import { watchLoop } from '../../support/loop-delay.ts';

// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

const longTexts = { properties: { a: { items: { properties: { t: { default: 'x'.repeat(60_000) } } } } } };

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`);
/** So many properties that require so many names each. */
const namesOf = (properties: number, names: number, prefix: string) =>
  Object.fromEntries(
    Array.from({ length: properties }, (_, index) => [
      `p${index}`,
      { required: Array.from({ length: names }, (_, name) => `${prefix}${name}`) },
    ]),
  );
/** Lists whose items have, by default, a list of so many items, and so on for so many levels. */
function multiplying(levels: number, length: number): object {
  const nested = levels === 1 ? {} : multiplying(levels - 1, length);
  return { items: { properties: { x: { default: Array(length).fill({}), ...nested } } } };
}
const listOf = (levels: number, length: number) => ({ properties: { a: multiplying(levels, length) } });
const validate = (schema: object, variables: Record<string, unknown>) => validateVariables(threads, schema, variables);

describe('variables against an input schema', () => {
  test('defaults fill a copy and are named by their paths', async () => {
    const schema = {
      type: 'object',
      properties: { tone: { type: 'string', default: 'dry' }, user: { properties: { age: { default: 0 } } } },
    };
    const given = { user: { name: 'Ada' } };
    expect(await validate(schema, given)).toEqual({
      variables: { tone: 'dry', user: { name: 'Ada', age: 0 } },
      defaulted: expect.toSatisfy((paths: string[]) => `${paths.toSorted()}` === 'tone,user.age'),
    });
    expect(given).toEqual({ user: { name: 'Ada' } });
  });

  test.each([
    ['on the event loop', {}],
    ['in a thread', { pattern: '.' }],
  ])('every fault has its path, %s', async (_where, extra) => {
    const schema = {
      type: 'object',
      required: ['a/b', 'toString'],
      properties: {
        list: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
        tone: { enum: ['dry', 'warm'], ...extra },
      },
      additionalProperties: false,
    };
    const variables = { list: [{ n: 1 }, { n: 'x' }], tone: 'cold', more: 1 };
    await expect(validate(schema, variables)).rejects.toMatchObject({
      code: 'invalid_variables',
      errors: expect.arrayContaining([
        { path: 'variables.list[1].n', code: 'type', message: 'must be integer' },
        { path: 'variables.tone', code: 'enum', message: expect.stringContaining('["dry","warm"]') },
        { path: 'variables.more', code: 'additionalProperties', message: expect.any(String) },
        { path: 'variables.a/b', code: 'required', message: expect.any(String) },
        { path: 'variables.toString', code: 'required', message: expect.any(String) },
      ]),
    });
  });

  test('formats of the standard are checked', async () => {
    const schema = { type: 'object', properties: { at: { type: 'string', format: 'email' } } };
    await expect(validate(schema, { at: 'nobody' })).rejects.toMatchObject({ code: 'invalid_variables' });
  });

  test.each([
    ['an unknown type', { type: 'strng' }],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema.json' }],
    ['a pattern that is none', { properties: { a: { pattern: '(' } } }],
    ['a list', []],
    ['itself as its only content', { $ref: '#' }],
    ['a circle of references', { $ref: '#/$defs/x', $defs: { x: { $ref: '#/$defs/y' }, y: { $ref: '#/$defs/x' } } }],
    ['70,000 bytes', { description: 'x'.repeat(70_000) }],
  ])('a schema with %s is refused', async (_what, schema) => {
    await expect(checkInputSchema(threads, schema)).rejects.toMatchObject({ code: 'invalid_input_schema' });
  });

  test('a schema may refer to itself, and a decimal number may be a multiple of one', async () => {
    const tree = {
      type: 'object',
      properties: { n: { multipleOf: 0.01 }, of: { type: 'array', items: { $ref: '#' } } },
    };
    await expect(validate(tree, { n: 19.99, of: [{ n: 0.07, of: [] }] })).resolves.toMatchObject({ defaulted: [] });
    await expect(validate(tree, { of: [{ of: [5] }] })).rejects.toMatchObject({ code: 'invalid_variables' });
    await expect(validate(tree, { n: 0.075 })).rejects.toMatchObject({ code: 'invalid_variables' });
  });

  test.each([
    ['that of the standard', { $id: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }],
    ['one that comes twice', { $id: 'http://a/b', properties: { x: { $id: 'http://a/b' } } }],
    ['a name of JavaScript', { $id: 'constructor', type: 'object' }],
  ])('a schema may have any id, also %s', async (_what, schema) => {
    await expect(validate(schema, { x: {} })).resolves.toMatchObject({ defaulted: [] });
  });

  test('a schema that is itself costs its own request only', async () => {
    await expect(validate({ allOf: [{ $ref: '#' }] }, {})).rejects.toMatchObject({
      code: expect.stringMatching(/^(template_limit|invalid_)/),
    });
  });

  test('a pattern that never ends costs its own request only', async () => {
    const schema = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    await expect(validate(schema, { a: `${'a'.repeat(40)}!` })).rejects.toMatchObject({ code: 'template_limit' });
    await expect(validate(schema, { a: 'aa' })).resolves.toMatchObject({ defaulted: [] });
  });

  test('a schema that doubles itself at every level costs its own request only', async () => {
    const defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
      ]),
    );
    const schema = { $defs: { ...defs, d40: { type: 'object' } }, $ref: '#/$defs/d0' };
    await expect(validate(schema, {})).rejects.toMatchObject({ code: 'template_limit' });
  });

  test('one schema does not see what another one calls itself', async () => {
    await checkInputSchema(threads, { $id: 'https://tenant/secret', properties: { a: { const: 'secret' } } });
    const other = checkInputSchema(threads, { $ref: 'https://tenant/secret' });
    await expect(other).rejects.toMatchObject({ code: 'invalid_input_schema' });
  });

  test.each([
    [{ properties: { a: { type: 'string' } } }, true],
    [{ properties: { a: { pattern: 'x' } } }, false],
    [{ properties: { pattern: { type: 'string' } } }, true],
    [{ properties: { a: { items: { anyOf: [{ format: 'email' }] } } } }, false],
    [{ uniqueItems: true }, false],
    [{ properties: { a: { default: 'x' }, b: { default: [] }, c: { default: {} } } }, true],
    [{ properties: { a: { default: [{}] } } }, false],
    [{ properties: { a: { items: { properties: { b: { default: { c: 1 } } } } } } }, false],
    [{ properties: { a: { required: numbered(195) } } }, true],
    [{ properties: { a: { required: numbered(100) }, b: { required: numbered(100) } } }, false],
    [{ enum: Array.from({ length: 1_000 }, (_, n) => n) }, false],
    [{ properties: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [n, {}])) }, false],
  ])('the schema %j is checked on the event loop: %s', (schema, linear) => {
    expect(isQuickCheck(schema, {})).toBe(linear);
  });

  test.each<[string, object, object]>([
    [
      'a list of items that lack very many fields',
      { properties: { l: { items: { required: numbered(8_000) } } } },
      { l: Array.from({ length: 200 }, () => ({})) },
    ],
    [
      'a long text with many limits of its length',
      { properties: { l: { allOf: Array.from({ length: 90 }, () => ({ minLength: 1 })) } } },
      { l: 'x'.repeat(1_000_000) },
    ],
    [
      'many items with many alternatives',
      { properties: { l: { items: { anyOf: Array.from({ length: 90 }, (_, index) => ({ const: index })) } } } },
      { l: Array.from({ length: 1_900 }, () => ({})) },
    ],
  ])('%s is checked without holding up the event loop', async (_what, schema, variables) => {
    // A thread starts, and the schema is compiled, before anything is measured.
    await validate({ pattern: '.' }, {});
    await validate(schema, {});
    const loop = watchLoop();
    await validate(schema, { ...variables }).catch(() => undefined);
    expect(loop.stop()).toBeLessThan(100);
    expect(isQuickCheck(schema, variables)).toBe(false);
  });

  test.each<[string, number, number, (index: number) => object]>([
    ['two that are as large as they may be', 2, 12, (index) => ({ properties: namesOf(6, 199, `n${index}`) })],
    ['two hundred small ones', 200, 400, (index) => ({ properties: namesOf(1, 20, `n${index}`) })],
  ])('schemas that must be compiled first do not hold up the event loop: %s', async (_what, count, calls, schemaOf) => {
    const schemas = Array.from({ length: count }, (_, index) => schemaOf(index));
    for (const schema of schemas) await checkInputSchema(threads, schema);
    const loop = watchLoop();
    await Promise.all(Array.from({ length: calls }, (_, index) => validate(schemas[index % count] ?? {}, { x: '1' })));
    expect(loop.stop()).toBeLessThan(100);
  });

  test.each<[string, object, object]>([
    ['defaults that fill the lists of other defaults', listOf(3, 3_000), { a: [{}] }],
    ['a long default in each item', listOf(1, 9_000), { a: Array.from({ length: 1_900 }, () => ({})) }],
    ['more values than the event loop could receive', listOf(1, 3_000), { a: Array.from({ length: 20 }, () => ({})) }],
    ['a long text in each of few items', longTexts, { a: Array.from({ length: 1_000 }, () => ({})) }],
    ['a long text in each of many items', longTexts, { a: Array.from({ length: 5_000 }, () => ({})) }],
  ])('%s cost their own request only', async (_what, schema, variables) => {
    await validate({ pattern: '.' }, {});
    const loop = watchLoop();
    await expect(validate(schema, { ...variables })).rejects.toMatchObject({ code: 'template_limit' });
    expect(loop.stop()).toBeLessThan(100);
  });

  test('names that a thousand properties require are looked at for a short time', () => {
    const properties = Object.fromEntries([
      ...numbered(1_000).map((name) => [name, { $ref: '#' }]),
      ...numbered(1_500).map((name) => [`n${name}`, { default: 1 }]),
    ]);
    const schema = { required: numbered(1_500).map((name) => `n${name}`), properties };
    const beganAtMs = performance.now();
    requiredPaths(schema);
    // It took seconds.
    expect(performance.now() - beganAtMs).toBeLessThan(150);
  });

  test('many values are checked in a thread whatever the schema', () => {
    expect(isQuickCheck({}, { a: Array.from({ length: 1_000 }, () => null) })).toBe(true);
    expect(isQuickCheck({}, { a: Array.from({ length: 50 }, () => Array.from({ length: 50 }, () => 1)) })).toBe(false);
    expect(isQuickCheck({}, { a: Array.from({ length: 1_000_000 }, () => 1) })).toBe(false);
  });
});

describe('tokens', () => {
  const tokens = new TokenCounter(allThreads);
  const count = (texts: string[], model: string | null) => tokens.count({ workspaceId: 'wsp_test', texts, model });

  test('an OpenAI model is counted with its own encoding, special tokens as text', async () => {
    expect(await count(['hello world', ' again'], 'gpt-4o')).toEqual({
      count: 3,
      model: 'gpt-4o',
      estimated: false,
    });
    expect((await count(['<|endoftext|>'], 'gpt-4-turbo')).count).toBeGreaterThan(1);
  });

  test('a model of another maker, and none, is estimated', async () => {
    expect(await count(['hello world'], 'claude-sonnet-4-5')).toMatchObject({
      count: 2,
      estimated: true,
    });
    expect(await count(['hello world'], null)).toEqual({ count: 2, model: null, estimated: true });
  });

  test('a text beyond 1 MiB is estimated by its bytes', async () => {
    const { count: counted, estimated } = await count(['x'.repeat(1_200_000)], 'gpt-4o');
    expect({ count: counted, estimated }).toEqual({ count: 300_000, estimated: true });
  });
});

test('very many checks at once that find very many faults each do not hold up the event loop together', async () => {
  const schema = { properties: { l: { items: { allOf: Array(22).fill({ type: 'object' }) } } } };
  const variables = { l: Array(1_990).fill(1) };
  expect(isQuickCheck(schema, variables)).toBe(true);
  const refused = () => expect(validate(schema, variables)).rejects.toMatchObject({ code: 'invalid_variables' });
  await refused();
  const loop = watchLoop();
  await Promise.all(Array.from({ length: 60 }, refused));
  expect(loop.stop()).toBeLessThan(200);
});
