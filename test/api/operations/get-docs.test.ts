import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listProblemCodes } from '../../../src/lib/problem-codes.ts';
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
  });

  test('every operation has its section, its link, its path and a command to try', () => {
    for (const { operationId, path, method } of api.process.endpoints) {
      expect(page).toContain(`<section id="${operationId}">`);
      expect(page).toContain(`<a href="#${operationId}">`);
      expect(page).toContain(`<code>${path}</code>`);
      const section = page.split(`<section id="${operationId}">`)[1]?.split('</section>')[0] ?? '';
      expect(section, operationId).toMatch(
        method === 'GET' ? /<pre>curl &quot;\$URL\// : /<pre>curl -X \w+ &quot;\$URL\//,
      );
    }
  });

  test('every error code is in the table', () => {
    for (const { code } of listProblemCodes()) expect(page).toContain(`<tr id="code-${code}">`);
  });

  test('every link within the page leads somewhere', () => {
    const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]));
    const targets = [...page.matchAll(/href="#([^"]+)"/g)].map((match) => match[1]);
    expect(targets.length).toBeGreaterThan(20);
    expect(targets.filter((target) => !ids.has(target))).toEqual([]);
  });

  test('it loads nothing and runs nothing, and its policy allows exactly its style', () => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|\ssrc=|@import|url\(|\son\w+=|javascript:/i);
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`style-src 'sha256-${hash}'`);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('every tag that is opened is closed', () => {
    const open: string[] = [];
    for (const [, closing, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (['meta', 'br'].includes(name)) continue;
      if (closing) expect(open.pop()).toBe(name);
      else open.push(name);
    }
    expect(open).toEqual([]);
  });
});

describe('304', () => {
  test('who has the page already is told so', async () => {
    const headers = { 'If-None-Match': response.headers.get('etag') ?? '' };
    const again = await fetch(`${api.url}/api/docs`, { headers });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});
