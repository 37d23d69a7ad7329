import { gzipSync } from 'node:zlib';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../../support/api.ts';

type Content = Record<string, { schema?: object; example?: unknown; examples?: Record<string, object> }>;

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema: object;
  example: unknown;
}

interface Operation {
  operationId: string;
  summary: string;
  parameters: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; headers: object; content?: Content; 'x-problem-codes'?: string[] }>;
  security: object[];
}

type ComponentKind = 'schemas' | 'parameters' | 'responses' | 'securitySchemes' | 'headers' | 'examples';

interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: Record<ComponentKind, Record<string, object>>;
  'x-problem-codes': Record<string, { status: number; title: string }>;
}

let api: TestApi;
let document: Document;
let operations: Operation[];

beforeAll(async () => {
  api = await startApi();
  const response = await fetch(`${api.url}/api/openapi.json`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  document = JSON.parse(await response.text());
  operations = Object.values(document.paths)
    .flatMap((path) => Object.values(path))
    .map((operation) => ({
      ...operation,
      parameters: operation.parameters.map(resolved),
      responses: Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [status, resolved(response)]),
      ),
    }));
});
afterAll(() => api.close());

/** What a reference leads to; anything else as it is. */
function resolved<T extends object>(node: T): T {
  if (!('$ref' in node)) return node;
  return String(node.$ref)
    .split('/')
    .slice(1)
    .reduce((at, key) => Object(at)[key], document as unknown) as T;
}

/** Every `$ref` anywhere below. */
function references(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value] : references(value),
  );
}

describe('200', () => {
  test('the document is OpenAPI 3.1 with a title and a version', () => {
    expect(document).toMatchObject({ openapi: expect.stringMatching(/^3\.1\.\d+$/), info: { title: 'Promptlane' } });
    expect(document.info.version).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('it has exactly the routes that are served', () => {
    const served = api.process.endpoints.map(({ method, path }) => `${method} ${path}`);
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(served.sort());
  });

  test('every operation has an id of its own and responses that are described', () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operationId, responses } of operations) {
      expect(Object.keys(responses).length, operationId).toBeGreaterThan(0);
      for (const [status, { description }] of Object.entries(responses)) {
        expect(status).toMatch(/^[1-5]\d\d$/);
        expect(description, `${operationId} ${status}`).toMatch(/\w/);
      }
    }
  });

  test('the parameters of every path are declared, and required', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters } of Object.values(methods)) {
        const declared = parameters.map(resolved).filter((parameter) => parameter.in === 'path');
        expect(declared.map(({ name }) => name)).toEqual(named);
        expect(declared.every(({ required }) => required)).toBe(true);
      }
    }
  });

  test('every reference leads somewhere', () => {
    const targets = Object.entries(document.components).flatMap(([kind, named]) =>
      Object.keys(named).map((name) => `#/components/${kind}/${name}`),
    );
    expect(references(document).filter((reference) => !targets.includes(reference))).toEqual([]);
    expect(references(document).length).toBeGreaterThan(0);
  });

  test('what several operations have in common stands once, under a name for clients', () => {
    const { schemas, parameters, responses } = document.components;
    const entities = [
      'Execution',
      'Page',
      'Part',
      'Problem',
      'Project',
      'Prompt',
      'PromptVersion',
      'Span',
      'TokenUsage',
    ];
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(entities));
    expect(Object.keys(parameters)).toEqual(expect.arrayContaining(['Cursor', 'IdempotencyKey', 'Limit', 'ProjectId']));
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['Unauthorized', 'NotFound', 'NotModified']));
    const names = Object.values(document.components).flatMap((named) => Object.keys(named));
    expect(names.filter((name) => !/^[A-Za-z][A-Za-z0-9_-]*$/.test(name) || name.includes('__'))).toEqual([]);
    const used = new Set(references(document));
    const unused = (['schemas', 'parameters', 'responses'] as const).flatMap((kind) =>
      Object.keys(document.components[kind]).filter((name) => !used.has(`#/components/${kind}/${name}`)),
    );
    expect(unused).toEqual([]);
  });

  test('every PUT, PATCH and DELETE can be 412, and takes If-Match where a read has the tag', () => {
    const changes = Object.values(document.paths).flatMap((path) => Object.entries(path));
    const changing = changes.flatMap(([method, operation]) =>
      ['put', 'patch', 'delete'].includes(method) ? [operation.operationId] : [],
    );
    const ofChanges = operations.filter(({ operationId }) => changing.includes(operationId));
    expect(ofChanges.filter(({ responses }) => !responses['412']).map(({ operationId }) => operationId)).toEqual([]);
    const taking = ofChanges.filter(({ parameters }) => parameters.some(({ name }) => name === 'If-Match'));
    const without = ofChanges.filter((operation) => !taking.includes(operation));
    expect(without.map(({ operationId }) => operationId).sort()).toEqual([
      ...['deleteFeedback', 'putModelPrices', 'removeMember', 'revokeApiKey', 'updateMember', 'updateWorkspace'],
    ]);
  });

  test('it stays small: under 600 kB, and a tenth of that when compressed', async () => {
    const text = JSON.stringify(document);
    expect(text.length).toBeLessThan(600_000);
    expect(gzipSync(text).length).toBeLessThan(60_000);
  });

  test('every security requirement names a scheme, and only open operations have none', () => {
    const schemes = Object.keys(document.components.securitySchemes);
    for (const { security } of operations) {
      for (const requirement of security) expect(schemes).toEqual(expect.arrayContaining(Object.keys(requirement)));
    }
    const open = operations.filter(({ security }) => security.length === 0).map(({ operationId }) => operationId);
    expect(open.sort()).toEqual([
      'getDocs',
      'getDocsScript',
      'getDocsStyle',
      'getHealth',
      'getLatency',
      'getOpenapi',
      'receiveIdentityWebhook',
    ]);
  });

  test('the registry of problem codes is in it', () => {
    expect(document['x-problem-codes'].cursor_mismatch).toEqual({ status: 400, title: expect.any(String) });
  });

  test('it is valid by the public schema of OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone({ ...document }));
    expect({ errors: result.errors, version: validator.version }).toEqual({ errors: undefined, version: '3.1' });
    const broken = await new Validator().validate({ ...structuredClone(document), info: { title: 'no version' } });
    expect(broken.valid).toBe(false);
  });

  test('every parameter is described and has an example that its contract takes', () => {
    for (const { operationId, parameters } of operations) {
      const contract = api.process.endpoints.find((endpoint) => endpoint.operationId === operationId);
      for (const { name, in: place, description, example } of parameters) {
        const where = `${operationId} ${name}`;
        expect(description, where).toMatch(/\w\w/);
        expect(description, `${where} is described by its name only`).not.toBe(name);
        expect(example, where).toBeDefined();
        if (place === 'header') continue;
        const schema = contract?.[place === 'path' ? 'params' : 'query']?.shape[name];
        expect(schema?.safeParse(String(example)).error, where).toBeUndefined();
      }
    }
  });

  test('every default of a parameter is valid by its schema', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const faults: string[] = [];
    let defaults = 0;
    for (const { operationId, parameters } of operations) {
      for (const { name, schema } of parameters) {
        if (!('default' in schema)) continue;
        defaults++;
        if (!ajv.validate(schema, schema.default)) faults.push(`${operationId} ${name}: ${ajv.errorsText()}`);
      }
    }
    expect(faults).toEqual([]);
    expect(defaults).toBeGreaterThan(20);
  });

  test('every body has an example that its contract takes', () => {
    const withBody = operations.filter(({ requestBody }) => requestBody);
    expect(withBody.length).toBeGreaterThan(2);
    for (const { operationId, requestBody } of withBody) {
      const contract = api.process.endpoints.find((endpoint) => endpoint.operationId === operationId);
      const content = requestBody?.content ?? {};
      const example = (content['application/json'] ?? Object.values(content)[0])?.example;
      expect(example, operationId).toBeDefined();
      if (contract?.body) expect(contract.body.safeParse(example).error, operationId).toBeUndefined();
    }
  });

  test('every answer has an example that is what the contract answers, or no content', () => {
    for (const { operationId, responses } of operations) {
      const contract = api.process.endpoints.find((endpoint) => endpoint.operationId === operationId);
      const specs = Object.entries(contract?.responses ?? {});
      for (const [status, { schema, contentType }] of specs) {
        const content = responses[status]?.content ?? {};
        const where = `${operationId} ${status}`;
        if (!schema && !contentType) continue;
        const example = content[contentType ?? 'application/json']?.example;
        expect(example, where).toBeDefined();
        expect(schema?.safeParse(example).error, where).toBeUndefined();
      }
    }
  });

  test('every error lists its codes, each with an example, under the status of the registry', () => {
    for (const { operationId, responses } of operations) {
      for (const [status, { 'x-problem-codes': codes = [], content }] of Object.entries(responses)) {
        for (const code of codes) {
          expect(document['x-problem-codes'][code]?.status, `${operationId} ${code}`).toBe(Number(status));
          const examples = content?.['application/problem+json']?.examples;
          if (examples) expect(examples[code], `${operationId} ${code}`).toBeDefined();
          else expect(operationId).toMatch(/^export/);
        }
      }
      expect(Object.keys(responses), operationId).toContain('500');
    }
  });

  test('every answer has its headers: the request id, and what its status asks for', () => {
    for (const { operationId, responses } of operations) {
      for (const [status, { headers }] of Object.entries(responses)) {
        const names = Object.keys(headers);
        expect(names, `${operationId} ${status}`).toContain('X-Request-Id');
        expect(names.includes('Retry-After'), `${operationId} ${status}`).toBe(status === '429' || status === '503');
      }
    }
    const create = operations.find(({ operationId }) => operationId === 'createApiKey');
    expect(create?.parameters.map(({ name }) => name)).toContain('Idempotency-Key');
    expect(Object.keys(create?.responses['201']?.headers ?? {})).toContain('Idempotency-Replayed');
    expect(create?.responses['422']?.['x-problem-codes']).toContain('idempotency_key_reused');
    const execution = operations.find(({ operationId }) => operationId === 'createExecution');
    expect(execution?.parameters.map(({ name }) => name)).toContain('Prefer');
    expect(Object.keys(execution?.responses['201']?.headers ?? {})).toContain('Preference-Applied');
  });
});

describe('304', () => {
  test('who has the document already is told so', async () => {
    const first = await fetch(`${api.url}/api/openapi.json`);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^".+"$/);
    const again = await fetch(`${api.url}/api/openapi.json`, { headers: { 'If-None-Match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});
