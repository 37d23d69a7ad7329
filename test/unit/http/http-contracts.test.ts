import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { checkEndpoints } from '../../../src/http/check-endpoints.ts';
import { type Contract, endpoint, endpointsFor } from '../../../src/http/endpoint.ts';
import { openApiDocument } from '../../../src/http/openapi/document.ts';
import { listOf, pageParams } from '../../../src/http/pagination.ts';
import { statusByKind } from '../../../src/http/problem.ts';
import { listProblemCodes } from '../../../src/lib/problem-codes.ts';

const base: Contract = {
  operationId: 'op',
  method: 'POST',
  path: '/a/{id}',
  summary: 's',
  tag: 't',
  access: { scope: 'a:read' },
  rateClass: 'read',
  params: z.strictObject({ id: z.string() }),
  responses: { 204: { description: 'done' } },
};

describe('contracts at start-up', () => {
  test('that are right are accepted', () => {
    expect(() => checkEndpoints([base])).not.toThrow();
  });
  test('without an access are refused, by the start-up check and by the compiler', () => {
    const { access: _, ...without } = base;
    expect(() => checkEndpoints([JSON.parse(JSON.stringify({ ...without, params: undefined, path: '/a' }))])).toThrow(
      'op: declares no access; deny by default',
    );
    // @ts-expect-error a contract without access is no contract
    const contract: Contract = without;
    expect(contract.access).toBeUndefined();
  });
  test.each<[string, readonly Contract[], RegExp]>([
    ['an empty scope', [{ ...base, access: { scope: '' } }], /declares no access/],
    ['two kinds of access', [{ ...base, access: { scope: 'a:read', open: true } }], /declares no access/],
    ['an unknown role', [JSON.parse('{"access":{"role":"god"}}')].map((odd) => ({ ...base, ...odd })), /no access/],
    [
      'a denied operator',
      [JSON.parse('{"access":{"operator":false}}')].map((odd) => ({ ...base, ...odd })),
      /no access/,
    ],
    ['path and schema at odds', [{ ...base, path: '/a/{other}' }], /parameters \[other\], its schema \[id\]/],
    ['a body on GET', [{ ...base, method: 'GET', body: z.strictObject({}) }], /a GET has no body/],
    [
      'an open object',
      [{ ...base, body: z.strictObject({ a: z.array(z.object({ b: z.string() })) }) }],
      /z\.strictObject/,
    ],
    ['a repeated operation', [base, { ...base, path: '/b/{id}' }], /operationId op is used twice/],
    ['a repeated route', [base, { ...base, operationId: 'op2' }], /POST \/a\/\{id\} is mounted twice/],
  ])('with %s are refused', (_what, contracts, expected) => {
    expect(() => checkEndpoints(contracts)).toThrow(expected);
  });
  test('with records and loose objects are accepted, because those are meant', () => {
    const body = z.strictObject({ free: z.record(z.string(), z.unknown()), loose: z.looseObject({ a: z.string() }) });
    expect(() => checkEndpoints([{ ...base, body }])).not.toThrow();
  });
});

test('a handler sees its schemas and its principal as types', () => {
  const kit = endpointsFor<{ name: string }>();
  const common = { operationId: 'x', method: 'GET', path: '/x', summary: '', tag: '', rateClass: 'none' } as const;
  kit.endpoint({
    ...common,
    access: { scope: 's' },
    query: z.strictObject({ limit: z.number().default(1) }),
    responses: { 200: { description: '', schema: z.object({ a: z.string() }) } },
    handle: async ({ query, principal, body }) => {
      expectTypeOf(query).toEqualTypeOf<{ limit: number }>();
      expectTypeOf(principal).toEqualTypeOf<{ name: string }>();
      expectTypeOf(body).toEqualTypeOf<undefined>();
      return { status: 200, body: { a: 'a' } };
    },
  });
  kit.endpoint({
    ...common,
    access: { open: true },
    responses: { 200: { description: '', schema: z.object({ a: z.string() }) } },
    // @ts-expect-error the body is not that of the schema
    handle: async ({ principal }) => {
      expectTypeOf(principal).toEqualTypeOf<undefined>();
      return { status: 200, body: { a: 1 } };
    },
  });
});

interface Tree {
  name: string;
  children: Tree[];
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});
const shared = z.object({ amount: z.string() }).meta({ id: 'Money' });

const document = await openApiDocument({
  title: 'Test',
  version: '1.2.3',
  knownFields: { id: { description: 'Which thing', example: 'thg_1' } },
  leastRoleOf: (scope) => `role of ${scope}`,
  contracts: [
    { ...base, body: z.strictObject({ name: z.string() }), problems: ['version_conflict'] },
    endpoint({
      ...base,
      operationId: 'list',
      method: 'GET',
      path: '/a',
      params: z.strictObject({}),
      access: { open: true },
      query: z.strictObject({ ...pageParams, must: z.string() }),
      responses: { 200: { description: 'a page', schema: listOf(z.object({ tree, a: shared, b: shared })) } },
      handle: async () => ({
        status: 200,
        body: { data: [], page: { next_cursor: null, has_more: false, limit: 1 } },
      }),
    }),
  ],
});

describe('the OpenAPI document', () => {
  const text = JSON.stringify(document);
  const at = (...path: string[]) => path.reduce<unknown>((node, key) => Object(node)[key], document);

  test('describes parameters, body and security of an operation', () => {
    expect(at('openapi')).toBe('3.1.0');
    expect(at('paths', '/a/{id}', 'post', 'security')).toEqual([{ apiKey: [] }, { bearer: [] }, { adminKey: [] }]);
    expect(at('paths', '/a/{id}', 'post', 'parameters')).toEqual([
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Which thing',
        schema: { type: 'string' },
        example: 'thg_1',
      },
    ]);
    expect(at('paths', '/a/{id}', 'post', 'requestBody')).toEqual({
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: { name: { type: 'string' } },
            required: ['name'],
            additionalProperties: false,
          },
          example: { name: 'text' },
        },
      },
    });
    expect(at('paths', '/a', 'get', 'security')).toEqual([]);
    expect(at('paths', '/a', 'get', 'parameters')).toMatchObject([
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
      },
      { name: 'cursor', required: false },
      { name: 'must', required: true },
    ]);
  });
  test('says who may call: the scope for keys and the role for users', async () => {
    expect(at('paths', '/a/{id}', 'post', 'x-promptlane-access')).toEqual({ scope: 'a:read', role: 'role of a:read' });
    expect(at('paths', '/a', 'get', 'x-promptlane-access')).toEqual({ open: true });
    for (const [access, security] of [
      [{ role: 'admin' }, [{ bearer: [] }, { adminKey: [] }]],
      [{ authenticated: true }, [{ apiKey: [] }, { bearer: [] }, { adminKey: [] }]],
      [{ admin: true }, [{ adminKey: [] }]],
    ] as const) {
      const { paths } = await openApiDocument({ title: '', version: '1', contracts: [{ ...base, access }] });
      expect(paths).toMatchObject({ '/a/{id}': { post: { security, 'x-promptlane-access': access } } });
    }
  });
  test('names the errors an operation may answer, its own included', () => {
    expect(at('paths', '/a/{id}', 'post', 'responses', '409', 'x-problem-codes')).toEqual(['version_conflict']);
    expect(Object.keys(Object(at('paths', '/a/{id}', 'post', 'responses')))).toEqual(
      expect.arrayContaining(['204', '400', '401', '403', '409', '413', '415', '422', '429', '500', '503']),
    );
  });
  test('resolves every reference, recursive and shared schemas included', () => {
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].flatMap((match) => match[1] ?? []);
    expect(references.length).toBeGreaterThan(3);
    for (const reference of references) {
      expect(reference).toMatch(/^#\/components\/(?:schemas|headers|examples|parameters|responses)\//);
      expect(at(...reference.slice(2).split('/')), reference).toBeTypeOf('object');
    }
    expect(text).not.toContain('$defs');
  });
  test('has a schema with an id once, under that name, and others where they are used', () => {
    expect(at('components', 'schemas', 'Money')).toEqual({
      type: 'object',
      properties: { amount: { type: 'string' } },
      required: ['amount'],
      additionalProperties: false,
    });
    expect(text.split('"#/components/schemas/Money"')).toHaveLength(3);
    expect(Object.keys(Object(at('components', 'schemas')))).toEqual(
      expect.arrayContaining(['Problem', 'Page', 'Money']),
    );
  });
  test('refuses two schemas with one id', async () => {
    const other = z.object({ euros: z.string() }).meta({ id: 'Money' });
    const answering = (operationId: string, schema: z.ZodType): Contract => ({
      ...base,
      operationId,
      path: `/${operationId}/{id}`,
      responses: { 200: { description: 'ok', schema } },
    });
    const contracts = [answering('one', shared), answering('two', other)];
    await expect(openApiDocument({ title: '', version: '1', contracts })).rejects.toThrow(
      'Two schemas have the id Money',
    );
  });
  test('has parameters and refusals once that several operations share', async () => {
    const again = { ...base, operationId: 'again', path: '/b/{id}' as const };
    const odd = { ...base, operationId: 'odd', path: '/c/{id}' as const, params: z.strictObject({ id: z.int() }) };
    const { paths, components } = await openApiDocument({ title: '', version: '1', contracts: [base, again, odd] });
    const sharing = {
      post: {
        parameters: [{ $ref: '#/components/parameters/Id' }],
        responses: { 204: { description: 'done' }, 401: { $ref: '#/components/responses/Unauthorized' } },
      },
    };
    expect(paths).toMatchObject({
      '/a/{id}': sharing,
      '/b/{id}': sharing,
      '/c/{id}': { post: { ...sharing.post, parameters: [{ name: 'id', schema: { type: 'integer' } }] } },
    });
    expect(components).toMatchObject({
      parameters: { Id: { name: 'id', in: 'path' } },
      responses: { Unauthorized: { 'x-problem-codes': expect.arrayContaining(['credentials_required']) } },
    });
  });
  test('numbers what shares a name and differs, the most frequent first', async () => {
    const of = (operationId: string, id: z.ZodType): Contract => ({
      ...base,
      operationId,
      path: `/${operationId}/{id}`,
      params: z.strictObject({ id }),
    });
    const contracts = [
      ...['a', 'b'].map((name) => of(name, z.int())),
      ...['c', 'd', 'e'].map((name) => of(name, z.string())),
    ];
    const { components } = await openApiDocument({ title: '', version: '1', contracts });
    expect(components).toMatchObject({
      parameters: { Id: { schema: { type: 'string' } }, Id2: { schema: { type: 'integer' } } },
    });
  });
  test('serves every code with its status', () => {
    for (const { code, kind, title } of listProblemCodes()) {
      const status = kind === 'internal' ? 500 : statusByKind[kind];
      expect(at('x-problem-codes', code)).toEqual({ status, title });
    }
  });
});

test('a problem code belongs to one kind only', () => {
  const codes = listProblemCodes().map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
  for (const code of codes) expect(code).toMatch(/^[a-z][a-z_]+$/);
});
