import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { listFeedback, newFeedbackToken } from '../support/feedback.ts';
import { newTraceId } from '../support/spans.ts';
import { until } from '../support/until.ts';

/** The page of docs/feedback.md, with the values of one test. */
function pageOf(values: { url: string; token: string; traceId: string }): string {
  const [, page = ''] = /```html\n(.*?)```/s.exec(readFileSync('docs/feedback.md', 'utf8')) ?? [];
  return page
    .replace('https://promptlane.example', values.url)
    .replace('fbt_of_your_server', values.token)
    .replace('4bf92f3577b34da6a3ce929d0e0e4736', values.traceId);
}

let api: TestApi;
let browser: Browser;
let site: Server;
let html = '';

beforeAll(async () => {
  api = await startApi();
  // Another port is another origin.
  site = createServer((_req, res) => res.setHeader('Content-Type', 'text/html; charset=utf-8').end(html));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  browser = await chromium.launch({ executablePath: inject('chromiumPath'), args: ['--no-sandbox'] });
});
afterAll(async () => {
  await browser?.close();
  site?.close();
  await api?.close();
});

async function openPage(values: { token: string; traceId: string }) {
  html = pageOf({ url: api.url, ...values });
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  return page;
}

async function newVisit(): Promise<{ project: ProjectOfTest; traceId: string; token: string }> {
  const project = await newProject(api);
  const traceId = newTraceId();
  return { project, traceId, token: await newFeedbackToken(api, project, traceId) };
}

describe('the page of docs/feedback.md on another origin', () => {
  test('gives feedback, and changes it', async () => {
    const { project, ...visit } = await newVisit();
    const page = await openPage(visit);
    await page.click('#up');
    await page.getByText('Thank you').waitFor();
    await page.click('#down');
    const feedback = await until('the change', 10_000, async () => {
      const { data } = await listFeedback(api, project);
      return data.length === 1 && data[0]?.rating === 'down' && data[0];
    });
    expect(feedback).toMatchObject({ trace_id: visit.traceId, author: { type: 'feedback_token' } });
    await page.close();
  });

  test('reads why it was refused', async () => {
    const page = await openPage({ token: 'fbt_wrong', traceId: newTraceId() });
    await page.click('#up');
    await page.getByText('The credentials are not valid').waitFor();
    await page.close();
  });

  test('cannot call any other route', async () => {
    const { project, ...visit } = await newVisit();
    const page = await openPage(visit);
    const read = (path: string) =>
      page.evaluate(
        (url) =>
          fetch(url).then(
            ({ status }) => status,
            (error: unknown) => String(error),
          ),
        `${api.url}${path}`,
      );
    expect(await read(`/api/projects/${project.id}/feedback`)).toContain('Failed to fetch');
    expect(await read('/api/health')).toContain('Failed to fetch');
    await page.close();
  });

  test('sends a beacon with the token in the body', async () => {
    const { project, ...visit } = await newVisit();
    const page = await openPage(visit);
    const body = { target_type: 'execution', trace_id: visit.traceId, rating: 'up', feedback_token: visit.token };
    const given = [`${api.url}/api/feedback`, JSON.stringify(body)].map((text) => JSON.stringify(text));
    const sent = await page.evaluate(`navigator.sendBeacon(${given.join()})`);
    expect(sent).toBe(true);
    await until('the beacon', 10_000, async () => (await listFeedback(api, project)).data.length === 1);
    await page.close();
  });
});
