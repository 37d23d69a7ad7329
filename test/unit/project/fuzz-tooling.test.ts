import { describe, expect, test } from 'vitest';
import { createCases } from '../../fuzz/cases.ts';
import { Findings } from '../../fuzz/findings.ts';
import { createJudge } from '../../fuzz/judge.ts';
import { type Document, operationsOf } from '../../fuzz/openapi.ts';
import { reduced } from '../../fuzz/reduce.ts';
import { KnownIds } from '../../fuzz/requests/ids.ts';
import { type FuzzRequest, percentEncoded } from '../../fuzz/requests/request.ts';
import { RawJson, toJsonText } from '../../fuzz/values/raw-json.ts';
import { isOwnWork } from '../../fuzz/watch/loop-delay.ts';
import type { World } from '../../fuzz/world.ts';

const problem = { type: 'object', required: ['code'] };
const document: Document = {
  paths: {
    '/api/things/{thing_id}': {
      get: {
        operationId: 'getThing',
        parameters: [{ name: 'thing_id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: {
          200: { content: { 'application/json': { schema: { type: 'object', required: ['id'] } } } },
          404: { content: { 'application/problem+json': { schema: problem } } },
        },
      },
    },
    '/api/things': {
      post: {
        operationId: 'createThing',
        parameters: [],
        requestBody: {
          content: {
            'application/json': {
              schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
            },
          },
        },
        responses: { 201: {} },
      },
    },
  },
  'x-problem-codes': { not_found: { status: 404 }, server_busy: { status: 503 }, internal_error: { status: 500 } },
};
const tenant = { workspaceId: 'wsp_own', projectId: 'prj_own', apiKey: 'own-key', token: 'own-token' };
const world: World = {
  apiUrl: 'http://127.0.0.1',
  adminKey: 'admin-key',
  attacker: tenant,
  canary: { ...tenant, projectId: 'prj_other', promptId: 'prm_other' },
  ids: new KnownIds(),
  exported: '{"record":"prompt","slug":"a"}',
};
const sizes = { textCharsMax: 100, elementsMax: 20, levelsMax: 20 };

describe('the judge of answers', () => {
  const request: FuzzRequest = {
    operationId: 'getThing',
    method: 'GET',
    target: '/api/things/1',
    headers: {},
    routed: true,
  };
  const answer = (status: number, body: object, type = 'application/problem+json') => ({
    status,
    headers: { 'content-type': type, 'x-request-id': 'r' },
    body: Buffer.from(JSON.stringify(body)),
    tookMs: 1,
  });
  function judged(given: Partial<FuzzRequest>, ...of: Parameters<typeof answer>) {
    const findings = new Findings();
    createJudge(document, operationsOf(document), findings).judge({ ...request, ...given }, answer(...of));
    return { kinds: findings.all().map(({ kind }) => kind), notes: [...findings.notes.keys()] };
  }

  test.each([
    ['a 500', {}, 500, { code: 'internal_error' }, 'server error'],
    ['a 503 that is not about load', {}, 503, { code: 'postgres_unavailable' }, 'server error'],
    ['a status that is not declared', {}, 402, { code: 'not_found' }, 'contract'],
    ['a code that belongs to another status', {}, 404, { code: 'server_busy' }, 'contract'],
  ])('finds %s', (_, given, status, body, kind) => {
    expect(judged(given, status, body).kinds).toEqual([kind]);
  });

  test('finds a body that its schema does not allow, and success with what is of another workspace', () => {
    expect(judged({}, 200, {}, 'application/json').kinds).toEqual(['contract']);
    expect(judged({ foreign: true }, 200, { id: 'x' }, 'application/json').kinds).toEqual(['crossed tenants']);
  });

  test('notes a refusal for load, and lets what is declared pass', () => {
    expect(judged({}, 503, { code: 'server_busy' })).toEqual({
      kinds: [],
      notes: ['getThing responded with 503 server_busy'],
    });
    expect(judged({}, 404, { code: 'not_found' })).toEqual({ kinds: [], notes: [] });
    expect(judged({}, 200, { id: 'x' }, 'application/json')).toEqual({ kinds: [], notes: [] });
  });
});

describe('the operations of a document', () => {
  const components = {
    parameters: { Id: { name: 'id', in: 'path', required: true, schema: { $ref: '#/components/schemas/Id' } } },
    schemas: { Id: { type: 'string' } },
    responses: { NotFound: { content: { 'application/problem+json': { schema: problem } } } },
  };
  const of = (reference: string) =>
    operationsOf(
      JSON.parse(
        JSON.stringify({
          ...document,
          components,
          paths: {
            '/{id}': {
              get: {
                operationId: 'get',
                parameters: [{ $ref: reference }],
                responses: { 404: { $ref: '#/components/responses/NotFound' } },
              },
            },
          },
        }),
      ),
    );

  test('have what references lead to', () => {
    expect(of('#/components/parameters/Id')).toEqual([
      {
        operationId: 'get',
        method: 'GET',
        path: '/{id}',
        parameters: [{ ...components.parameters.Id, schema: { type: 'string' } }],
        responses: { 404: components.responses.NotFound },
      },
    ]);
  });

  test('are refused when a reference has no target', () => {
    expect(() => of('#/components/parameters/constructor')).toThrow('has no target');
  });
});

describe('the cases of a run', () => {
  const drawn = (seed: number, count = 20) => {
    const { caseOf } = createCases(operationsOf(document), world, { seed, sizes });
    return Array.from({ length: count }, (_, index) => caseOf(index));
  };

  test('are the same for the same seed, and others for another', () => {
    const cases = drawn(7);
    expect(drawn(7)).toEqual(cases);
    expect(drawn(8)).not.toEqual(cases);
  });

  test('hold every operation, and never an operator who acts on the innocent workspace', () => {
    const requests = drawn(1, 40).map(({ request }) => request);
    expect(new Set(requests.map(({ operationId }) => operationId))).toEqual(new Set(['getThing', 'createThing']));
    for (const { foreign, headers } of requests) if (foreign) expect(headers).not.toHaveProperty('X-Admin-Key');
  });
});

test('a request is reduced to what it needs to fail', async () => {
  const body = Buffer.from('{"name":"x","bad":1,"more":{"a":[]}}');
  const request: FuzzRequest = {
    operationId: 'createThing',
    method: 'POST',
    target: '/api/things?a=1&b=2',
    headers: {},
    body,
    routed: true,
  };
  const smallest = await reduced(
    request,
    async (each) => each.target.includes('b=2') && String(each.body).includes('"bad":1'),
  );
  expect([smallest.target, String(smallest.body)]).toEqual(['/api/things?b=2', '{"bad":1}']);
});

test('JSON text holds what JSON.stringify cannot write', () => {
  expect(toJsonText({ a: [new RawJson('1e400')], b: '\ud800' })).toBe('{"a":[1e400],"b":"\\ud800"}');
});

test('a lone surrogate in a path is the bytes that it would have in UTF-8', () => {
  expect(percentEncoded('a/\ud800🧨')).toBe('a%2F%ed%a0%80%F0%9F%A7%A8');
});

test.each([
  ['worked', { ms: 80, cpuMs: 70 }, true],
  ['waited for a processor', { ms: 80, cpuMs: 12 }, false],
  ['did nothing for less than that', { ms: 40, cpuMs: 40 }, false],
  ['stood still where the system does not tell why', { ms: 80, cpuMs: null }, true],
])('a process that %s is told apart', (_, stall, expected) => {
  expect(isOwnWork({ endedAtMs: 0, ...stall }, 50)).toBe(expected);
});
