import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  findKnownPrompts,
  type KnownPrompt,
  KnownPrompts,
  resolvePromptRefs,
} from '../../../src/domains/prompt-links/index.ts';
import type { PromptMention } from '../../../src/domains/prompt-links/prompt.ts';
import { connectPostgres } from '../../../src/stores/postgres/client.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

function known(slug: string, versions: number[] = []): KnownPrompt {
  return { id: `prm_${slug}`, slug, versions };
}

/** A database of prompts by project and name that remembers what it was asked, and may be away. */
function database(prompts: Record<string, Record<string, KnownPrompt>>) {
  const asked: string[][] = [];
  const state = { away: false };
  const find = async (projectId: string, wanted: readonly string[]) => {
    asked.push([...wanted]);
    if (state.away) throw new Error('away');
    const own = prompts[projectId] ?? {};
    return new Map(wanted.flatMap((each): [string, KnownPrompt][] => (own[each] ? [[each, own[each]]] : [])));
  };
  return { asked, prompts, state, find, known: new KnownPrompts({ find, unknownMs: 2_000, askedMax: 200, logger }) };
}

const names = async (from: KnownPrompts, projectId: string, ...wanted: string[]) =>
  [...(await from.of(`of ${projectId}`).find(projectId, new Set(wanted))).values()].map(({ id }) => id);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('what is known of prompts', () => {
  test('is asked once for each name and project, what exists for five seconds, what does not for two', async () => {
    const db = database({ p: { a: known('a') } });
    expect(await names(db.known, 'p', 'a', 'x')).toEqual(['prm_a']);
    expect(await names(db.known, 'p', 'a', 'x')).toEqual(['prm_a']);
    expect(await names(db.known, 'other', 'a')).toEqual([]);
    expect(db.asked).toEqual([['a', 'x'], ['a']]);
    vi.advanceTimersByTime(2_000);
    db.prompts.p = { a: known('a'), x: known('x') };
    expect(await names(db.known, 'p', 'a', 'x')).toEqual(['prm_a', 'prm_x']);
    vi.advanceTimersByTime(3_000);
    await names(db.known, 'p', 'a', 'x');
    expect(db.asked.slice(2)).toEqual([['x'], ['a']]);
  });

  test('is asked once by many who want it at the same time', async () => {
    const db = database({ p: { a: known('a') } });
    const all = await Promise.all(Array.from({ length: 50 }, () => names(db.known, 'p', 'a')));
    expect(all.every((each) => each[0] === 'prm_a')).toBe(true);
    expect(db.asked).toEqual([['a']]);
  });

  test('holds while the database is away, which is asked again only after two seconds', async () => {
    const db = database({ p: { a: known('a'), b: known('b') } });
    await names(db.known, 'p', 'a');
    db.state.away = true;
    vi.advanceTimersByTime(5_000);
    expect(await names(db.known, 'p', 'a', 'b')).toEqual(['prm_a']);
    for (let body = 0; body < 100; body++) await names(db.known, 'p', `new ${body}`);
    expect(db.asked).toHaveLength(2);
    db.state.away = false;
    vi.advanceTimersByTime(2_000);
    expect(await names(db.known, 'p', 'a', 'b')).toEqual(['prm_a', 'prm_b']);
  });

  test('is asked for one project while the look-ups of another take long', async () => {
    const find = async (projectId: string) =>
      projectId === 'slow' ? new Promise<never>(() => undefined) : new Map([['a', known('a')]]);
    const prompts = new KnownPrompts({ find, unknownMs: 0, askedMax: 200, logger });
    const slow = names(prompts, 'slow', 'a');
    await vi.advanceTimersByTimeAsync(300);
    expect([await slow, await names(prompts, 'p', 'a')]).toEqual([[], ['prm_a']]);
  });

  test('is asked by one statement of a workspace at a time, whatever its project, also when nobody waits any more', async () => {
    const asked: string[] = [];
    const ends: (() => void)[] = [];
    const find = async (projectId: string) => {
      asked.push(projectId);
      await new Promise<void>((resolve) => ends.push(resolve));
      return new Map<string, KnownPrompt>();
    };
    const slow = new KnownPrompts({ find, unknownMs: 2_000, askedMax: 200, logger });
    const own = slow.of('wsp_slow');
    const waiting = [
      ...[own.find('slow', new Set(['a'])), own.find('slow', new Set(['b'])), own.find('its other', new Set(['a']))],
      slow.of('wsp_other').find('other', new Set(['c'])),
    ];
    await vi.advanceTimersByTimeAsync(250);
    await Promise.all(waiting);
    expect(asked).toEqual(['slow', 'other']);
    for (const end of ends.splice(0)) end();
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toEqual(['slow', 'other', 'slow']);
  });

  test('is bounded: one project asks for 200 names at once, forgets old ones and does not push out those of another', async () => {
    const db = database({ p: { a: known('a') }, q: { a: known('a') } });
    await names(db.known, 'q', 'a');
    await names(db.known, 'p', 'a');
    for (let body = 0; body < 4; body++) {
      await names(db.known, 'p', ...Array.from({ length: 500 }, (_, index) => `${body} ${index}`));
    }
    expect(db.asked.slice(2).map(({ length }) => length)).toEqual([200, 200, 200, 200]);
    await names(db.known, 'p', 'a');
    await names(db.known, 'q', 'a');
    expect(db.asked.slice(6)).toEqual([['a']]);
  });

  test('stays while another workspace reads ever more projects, which push out their own', async () => {
    const db = database({ p: { a: known('a') } });
    await names(db.known, 'p', 'a');
    const other = db.known.of('wsp_other');
    for (let project = 0; project < 300; project++) await other.find(`its ${project}`, new Set(['a']));
    const askedBefore = db.asked.length;
    expect(await names(db.known, 'p', 'a')).toEqual(['prm_a']);
    await other.find('its 299', new Set(['a']));
    expect(db.asked).toHaveLength(askedBefore);
    await other.find('its 0', new Set(['a']));
    expect(db.asked).toHaveLength(askedBefore + 1);
  });

  test('of more names than are kept is found at once, five hundred in a statement', async () => {
    const wanted = Array.from({ length: 1_200 }, (_, index) => `name ${index}`);
    const db = database({ p: Object.fromEntries(wanted.map((name) => [name, known(name)])) });
    const reads = new KnownPrompts({ find: db.find, unknownMs: 0, askedMax: 2_000, logger });
    expect(await names(reads, 'p', ...wanted)).toEqual(wanted.map((name) => `prm_${name}`));
    expect(db.asked.map(({ length }) => length)).toEqual([500, 500, 200]);
  });

  test('holds while the database is away, also when more names than are kept are wanted', async () => {
    const db = database({ p: { a: known('a') } });
    const reads = new KnownPrompts({ find: db.find, unknownMs: 0, askedMax: 2_000, logger });
    await names(reads, 'p', 'a');
    db.state.away = true;
    vi.advanceTimersByTime(5_000);
    const many = Array.from({ length: 1_200 }, (_, index) => `unknown ${index}`);
    expect(await names(reads, 'p', 'a', ...many)).toEqual(['prm_a']);
  });

  test('is not asked for what no prompt can be called', async () => {
    const db = database({});
    expect(await names(db.known, 'p', 'a\u0000b', 'x'.repeat(201))).toEqual([]);
    expect(db.asked).toEqual([]);
  });
});

describe('with a database that takes connections and says nothing', () => {
  let server: Server;
  const sockets = new Set<Socket>();
  beforeEach(async () => {
    vi.useRealTimers();
    server = createServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  test('nobody waits longer than a moment, and the next not at all', async () => {
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const postgres = connectPostgres(`postgres://u:p@127.0.0.1:${port}/d`, 1);
    const silent = new KnownPrompts({
      find: (...asked) => findKnownPrompts(postgres, ...asked),
      unknownMs: 0,
      askedMax: 200,
      logger,
    });
    const startedAtMs = performance.now();
    expect(await names(silent, 'p', 'a')).toEqual([]);
    const firstMs = performance.now() - startedAtMs;
    for (let body = 0; body < 100; body++) expect(await names(silent, 'p', 'a')).toEqual([]);
    const restMs = performance.now() - startedAtMs - firstMs;
    expect(firstMs).toBeLessThan(1_000);
    expect(restMs).toBeLessThan(100);
    for (const socket of sockets) socket.destroy();
    await postgres.destroy();
  });
});

describe('a mention', () => {
  const mention = (given: Partial<PromptMention>): PromptMention => ({
    id: '',
    name: '',
    version: 0,
    key: '',
    ...given,
  });
  const resolve = async (given: Partial<PromptMention>) => {
    const db = database({
      p: {
        greet: known('greet'),
        prm_1: { id: 'prm_1', slug: 'one', versions: [] },
        'sha256:00': known('text', [5, 3, 1]),
      },
    });
    const [resolved] = await resolvePromptRefs(db.known.of('w'), 'p', [mention(given)]);
    return { resolved, asked: db.asked };
  };

  test.each<[string, Partial<PromptMention>, Partial<PromptMention>]>([
    ['by a name', { name: 'greet', version: 2 }, { id: 'prm_greet', name: 'greet', version: 2 }],
    ['by id before the name', { key: 'prm_1', name: 'greet' }, { id: 'prm_1', name: 'greet', key: '' }],
    ['by id alone, and called by its slug', { name: 'prm_1' }, { id: 'prm_1', name: 'one' }],
    ['by name where the id is unknown', { key: 'prm_2', name: 'greet' }, { id: 'prm_greet', key: '' }],
    ['by a text, of the newest version with it', { key: 'sha256:00' }, { id: 'prm_text', name: 'text', version: 5 }],
    ['by a text, of the version it says', { key: 'sha256:00', version: 3 }, { version: 3 }],
    ['by a text that never was the version it says', { key: 'sha256:00', version: 4 }, { version: 5 }],
  ])('is linked %s', async (_how, given, expected) => {
    expect((await resolve(given)).resolved).toMatchObject(expected);
  });

  test('of an unknown prompt stays as it is', async () => {
    const given = { name: 'nobody', version: 7, key: 'prm_9' };
    expect((await resolve(given)).resolved).toEqual(mention(given));
  });

  test('that is linked, or names nothing, is not asked for', async () => {
    expect((await resolve({ id: 'prm_1', name: 'greet' })).asked).toEqual([]);
    expect((await resolve({ version: 3 })).asked).toEqual([]);
  });
});
