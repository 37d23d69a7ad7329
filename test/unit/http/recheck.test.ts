import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { endpoint, rawEndpoint } from '../../../src/http/endpoint.ts';
import { UnauthenticatedError } from '../../../src/lib/errors.ts';
import { serve } from '../../support/http-app.ts';
import { until } from '../../support/until.ts';

const common = { summary: '', tag: '', access: { authenticated: true }, rateClass: 'write', method: 'POST' } as const;
const responses = { 204: { description: '' } };
let app: Awaited<ReturnType<typeof serve>>;
let [isRevoked, authorized, effects] = [false, 0, 0];

beforeAll(async () => {
  const json = endpoint({
    ...{ ...common, operationId: 'json', path: '/json', responses, body: z.array(z.int()) },
    handle: async () => {
      effects++;
      return { status: 204 };
    },
  });
  const raw = rawEndpoint({
    ...{ ...common, operationId: 'raw', path: '/raw', responses },
    handle: async (_req, res, { receive }) => {
      await receive(100);
      effects++;
      res.status(204).end();
    },
  });
  const authorize = async () => {
    authorized++;
    if (isRevoked) throw new UnauthenticatedError('invalid_credentials', 'It was revoked');
  };
  app = await serve([json, raw], { authorize });
});
afterAll(() => app.close());
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  [isRevoked, authorized, effects] = [false, 0, 0];
});
afterEach(() => vi.useRealTimers());

/** Begins a request, and does something when it has been authorized, before the rest of its body is sent. */
async function send(path: string, meanwhile: () => void): Promise<number | undefined> {
  const sent = request(app.url + path, { method: 'POST', headers: { 'Content-Type': 'application/json' } });
  const answered = once(sent, 'response');
  sent.write('[1, ');
  await until('the request is authorized', 10_000, () => authorized > 0);
  meanwhile();
  sent.end('2]');
  const [answer] = await answered;
  answer.resume();
  return answer.statusCode;
}

const lateMs = 501;

test.each(['/json', '/raw'])('POST %s is refused when its caller is revoked while the body arrives', async (path) => {
  const status = await send(path, () => {
    isRevoked = true;
    vi.advanceTimersByTime(lateMs);
  });
  expect([status, effects]).toEqual([401, 0]);
});

test.each(['/json', '/raw'])('POST %s is done when its caller is still authorized after a slow body', async (path) => {
  expect(await send(path, () => vi.advanceTimersByTime(lateMs))).toBe(204);
  expect([authorized, effects]).toEqual([2, 1]);
});

test.each(['/json', '/raw'])('POST %s is authorized once when its body arrives at once', async (path) => {
  expect(await send(path, () => undefined)).toBe(204);
  expect([authorized, effects]).toEqual([1, 1]);
});
