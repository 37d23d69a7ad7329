import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
let response: Response;
let style: string;

beforeAll(async () => {
  api = await startApi();
  response = await fetch(`${api.url}/api/docs/page.css`);
  style = await response.text();
});
afterAll(() => api.close());

describe('200', () => {
  test('it is the style of Swagger UI with a tag of its own', () => {
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
    expect(response.headers.get('etag')).toMatch(/^".+"$/);
    expect(style).toContain('.swagger-ui');
  });

  test('it loads nothing: no other style, no font, and images of its own only', () => {
    expect(style).not.toMatch(/@import|@font-face/);
    const loaded = [...style.matchAll(/url\(\s*["']?([^"')]*)/g)].map(([, url]) => url ?? '');
    expect(loaded.filter((url) => !url.startsWith('data:'))).toEqual([]);
  });
});

describe('304', () => {
  test('who has it already is told so', async () => {
    const headers = { 'If-None-Match': response.headers.get('etag') ?? '' };
    const again = await fetch(`${api.url}/api/docs/page.css`, { headers });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});
