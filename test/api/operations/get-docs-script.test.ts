import { Script } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
let response: Response;
let script: string;

beforeAll(async () => {
  api = await startApi();
  response = await fetch(`${api.url}/api/docs/page.js`);
  script = await response.text();
});
afterAll(() => api.close());

describe('200', () => {
  test('it is Swagger UI and its start, as a script with a tag of its own', () => {
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    expect(response.headers.get('etag')).toMatch(/^".+"$/);
    expect(response.headers.get('cache-control')).toBe('private, no-cache');
    expect(script.length).toBeGreaterThan(500_000);
    expect(script).toMatch(/\nSwaggerUIBundle\(\{\n {2}url: '\/api\/openapi.json',\n/);
  });

  test('it is a script that a browser can parse', () => {
    expect(() => new Script(script)).not.toThrow();
  });

  test('it comes compressed to those who take that, and plain to others', async () => {
    const sizes = await Promise.all(
      ['gzip', 'identity'].map(async (coding) => {
        const answer = await fetch(`${api.url}/api/docs/page.js`, { headers: { 'Accept-Encoding': coding } });
        expect(answer.headers.get('vary')).toBe('Accept-Encoding');
        expect(await answer.text()).toBe(script);
        return Number(answer.headers.get('content-length'));
      }),
    );
    expect(sizes[0]).toBeLessThan(Number(sizes[1]) / 2);
  });

  test('it asks nobody else: the validator of swagger.io is off', () => {
    expect(script).toContain('validatorUrl: null');
  });
});

describe('304', () => {
  test('who has it already is told so', async () => {
    const headers = { 'If-None-Match': response.headers.get('etag') ?? '' };
    const again = await fetch(`${api.url}/api/docs/page.js`, { headers });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});
