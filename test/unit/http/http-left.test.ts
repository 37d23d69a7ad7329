import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpoint } from '../../../src/http/endpoint.ts';
import { serve } from '../../support/http-app.ts';
import { until } from '../../support/until.ts';

let began = 0;
let ended = 0;

const waits = endpoint({
  method: 'GET',
  summary: '',
  tag: '',
  access: { authenticated: true },
  responses: { 204: { description: '' } },
  operationId: 'wait',
  path: '/wait',
  rateClass: 'read',
  handle: async ({ signal }) => {
    began += 1;
    await once(new EventEmitter(), 'never', { signal }).finally(() => {
      ended += 1;
    });
    return { status: 204 };
  },
});

let app: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  app = await serve<string>([waits], {
    authorize: async () => 'anybody',
    sharerOf: (_req, principal) => String(principal),
  });
});
afterAll(() => app.close());

test('work that ends because its client has left is logged as 499, and not as an error', async () => {
  const leaving = new AbortController();
  const left = fetch(`${app.url}/wait`, { signal: leaving.signal }).catch(() => 'left');
  await until('the handler waits', 5_000, () => began === 1);
  leaving.abort();
  expect(await left).toBe('left');
  await until('the handler has ended', 5_000, () => ended === 1);
  await until('the request is logged', 5_000, () => app.log.text().includes('499'));
  expect(app.log.text()).not.toContain('request failed');
});
