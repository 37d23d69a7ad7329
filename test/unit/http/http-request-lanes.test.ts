import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { endpoint } from '../../../src/http/endpoint.ts';
import { serve } from '../../support/http-app.ts';
import { until } from '../../support/until.ts';

const common = {
  method: 'GET',
  summary: '',
  tag: '',
  access: { authenticated: true },
  responses: { 204: { description: '' } },
} as const;

let release: (() => void)[] = [];
const held = { records: 0, writes: 0, lists: 0 };

/** Handlers that go on until they are told to end, counted by their lane. */
const endpoints = [
  endpoint({
    ...common,
    operationId: 'read',
    path: '/read',
    rateClass: 'read',
    handle: async () => {
      held.records += 1;
      await new Promise<void>((resolve) => release.push(resolve));
      held.records -= 1;
      return { status: 204 };
    },
  }),
  endpoint({
    ...common,
    operationId: 'list',
    path: '/list',
    rateClass: 'read',
    lane: 'lists',
    handle: async () => {
      held.lists += 1;
      await new Promise<void>((resolve) => release.push(resolve));
      held.lists -= 1;
      return { status: 204 };
    },
  }),
  endpoint({
    ...common,
    operationId: 'unbound',
    path: '/unbound',
    rateClass: 'read',
    lane: 'none',
    handle: async () => ({ status: 204 }),
  }),
  endpoint({
    ...common,
    method: 'POST',
    operationId: 'write',
    path: '/write',
    rateClass: 'write',
    body: z.strictObject({ text: z.string() }),
    handle: async () => {
      held.writes += 1;
      await new Promise<void>((resolve) => release.push(resolve));
      held.writes -= 1;
      return { status: 204 };
    },
  }),
];

let app: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  app = await serve<string>(endpoints, {
    authorize: async (req) => String(req.headers['x-api-key']),
    sharerOf: (_req, principal) => principal ?? 'nobody',
  });
});
afterAll(() => app.close());

const call = (path: string, workspace: string, signal?: AbortSignal) =>
  fetch(app.url + path, { headers: { 'x-api-key': workspace }, ...(signal && { signal }) });
const releaseAll = () => {
  for (const each of release.splice(0)) each();
};

test('a workspace with sixty slow requests holds five places; another is served, and one too many is refused as busy', async () => {
  const leaving = new AbortController();
  const mine = Array.from({ length: 60 }, () => call('/read', 'one'));
  const left = call('/read', 'one', leaving.signal).catch(() => 'left');
  const refused = await Promise.race([...mine, until('five places are held', 5_000, () => held.records === 5)]);
  expect([true, 429]).toContain(refused === true ? true : refused.status);
  leaving.abort();
  expect(await left).toBe('left');
  const others = call('/read', 'other');
  await until('the other has a place', 5_000, () => held.records === 6);
  expect((await call('/unbound', 'one')).status).toBe(204);
  let done = false;
  const statuses = Promise.all(mine.map(async (each) => (await each).status)).finally(() => {
    done = true;
  });
  await until('all are answered', 10_000, () => {
    expect(held.records).toBeLessThanOrEqual(6);
    releaseAll();
    return done;
  });
  expect((await others).status).toBe(204);
  expect(new Set(await statuses).has(204)).toBe(true);
  release = [];
  // One more than may be held and wait.
  const many = Array.from({ length: 70 }, () => call('/read', 'one'));
  const first = await Promise.any(many);
  expect(first.status).toBe(429);
  expect(await first.json()).toMatchObject({ code: 'workspace_busy' });
  expect(first.headers.get('retry-after')).toBe('1');
  let ended = false;
  const all = Promise.all(many).finally(() => {
    ended = true;
  });
  await until('the rest is answered', 10_000, () => {
    releaseAll();
    return ended;
  });
  expect((await all).filter(({ status }) => status === 204)).toHaveLength(69);
  expect(app.log.text()).not.toContain('internal_error');
});

test('of requests with a mebibyte of body a workspace has one under way, while another has as many small ones as ever', async () => {
  release = [];
  const write = (workspace: string, characters: number) =>
    fetch(`${app.url}/write`, {
      method: 'POST',
      headers: { 'x-api-key': workspace, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'a'.repeat(characters) }),
    });
  const large = Array.from({ length: 4 }, () => write('one', 1_000_000));
  await until('a large one has its places', 5_000, () => held.writes === 1);
  const small = Array.from({ length: 6 }, () => write('other', 10));
  await until('five small ones have theirs', 5_000, () => held.writes === 6);
  let done = false;
  const all = Promise.all([...large, ...small].map(async (each) => (await each).status)).finally(() => {
    done = true;
  });
  await until('all are answered', 10_000, () => {
    expect(held.writes).toBeLessThanOrEqual(6);
    for (const each of release.splice(0)) each();
    return done;
  });
  expect(new Set(await all)).toEqual(new Set([204]));
});

test('a workspace with slow lists holds two places of them, and its other reads go on', async () => {
  release = [];
  const lists = Array.from({ length: 5 }, () => call('/list', 'one'));
  await until('two lists are read', 5_000, () => held.lists === 2);
  const read = call('/read', 'one');
  await until('the read has begun', 5_000, () => held.records === 1);
  let done = false;
  const statuses = Promise.all([read, ...lists].map(async (each) => (await each).status)).finally(() => {
    done = true;
  });
  await until('all are answered', 10_000, () => {
    expect(held.lists).toBeLessThanOrEqual(2);
    releaseAll();
    return done;
  });
  expect(new Set(await statuses)).toEqual(new Set([204]));
});
