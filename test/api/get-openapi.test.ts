import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../support/api.ts';

interface Operation {
  operationId: string;
  parameters: { name: string; in: string; required: boolean; schema: object }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
  security: object[];
}

interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
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
  operations = Object.values(document.paths).flatMap((path) => Object.values(path));
});
afterAll(() => api.close());

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
    const served = api.container.endpoints.map(({ method, path }) => `${method} ${path}`);
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
        const declared = parameters.filter((parameter) => parameter.in === 'path');
        expect(declared.map(({ name }) => name)).toEqual(named);
        expect(declared.every(({ required }) => required)).toBe(true);
      }
    }
  });

  test('every reference leads somewhere', () => {
    const targets = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(references(document).filter((reference) => !targets.includes(reference))).toEqual([]);
    expect(references(document).length).toBeGreaterThan(0);
  });

  test('every security requirement names a scheme, and only open operations have none', () => {
    const schemes = Object.keys(document.components.securitySchemes);
    for (const { security } of operations) {
      for (const requirement of security) expect(schemes).toEqual(expect.arrayContaining(Object.keys(requirement)));
    }
    const open = operations.filter(({ security }) => security.length === 0).map(({ operationId }) => operationId);
    expect(open.sort()).toEqual([
      'exportLogs',
      'exportMetrics',
      'getHealth',
      'getLatency',
      'getOpenapi',
      'receiveIdentityWebhook',
    ]);
  });

  test('the registry of problem codes is in it', () => {
    expect(document['x-problem-codes'].cursor_mismatch).toEqual({ status: 400, title: expect.any(String) });
  });
});
