import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
let response: Response;
let page: string;

beforeAll(async () => {
  api = await startApi();
  response = await fetch(`${api.url}/api/docs`);
  page = await response.text();
});
afterAll(() => api.close());

describe('200', () => {
  test('it is an HTML page with a tag of its own', () => {
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(response.headers.get('etag')).toMatch(/^".+"$/);
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(page).toContain('<title>Promptlane API</title>');
  });

  test('who has no scripts is told where the document is', () => {
    expect(page).toMatch(/<noscript>.*href="\/api\/openapi.json".*<\/noscript>/);
  });

  test('what it loads is served here and is not empty', async () => {
    const loaded = [...page.matchAll(/<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="([^"]*)"/g)].map(
      ([, url]) => url,
    );
    expect(loaded).toEqual(['data:,', '/api/docs/page.css', '/api/docs/page.js']);
    for (const path of loaded.slice(1)) {
      const file = await fetch(`${api.url}${path}`);
      expect([path, file.status]).toEqual([path, 200]);
      expect((await file.text()).length).toBeGreaterThan(10_000);
    }
  });

  test('it names no other host and has no script or style of its own', () => {
    expect(page).not.toMatch(/https?:|\/\/\w|<style|<script>|\sstyle=|\son\w+=|javascript:|@import/i);
  });

  test('its policy allows what this service serves and nothing else', () => {
    const policy = Object.fromEntries(
      (response.headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
        const [name, ...sources] = directive.split(' ');
        return [name, sources];
      }),
    );
    expect(policy).toEqual({
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'connect-src': ["'self'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
    });
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('304', () => {
  test('who has the page already is told so', async () => {
    const headers = { 'If-None-Match': response.headers.get('etag') ?? '' };
    const again = await fetch(`${api.url}/api/docs`, { headers });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});

describe('404', () => {
  test.each([
    '/api/docs/swagger-ui-bundle.js',
    '/api/docs/package.json',
    '/api/docs/..%2f..%2fpackage.json',
    '/api/docs/%00',
  ])('there is no %s beside it', async (path) => {
    expect((await fetch(`${api.url}${path}`)).status).toBe(404);
  });
});
