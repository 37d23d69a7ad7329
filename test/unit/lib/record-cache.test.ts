import { describe, expect, test } from 'vitest';
import { RecordCache } from '../../../src/lib/record-cache.ts';

interface Row {
  id: string;
  version: number;
}

/** A cache over rows that a test changes, with its loads counted; `away` makes loading fail, `hold` makes it wait. */
function cacheOf(options: { lifeMs?: number; missingMs?: number; entriesMax?: number } = {}) {
  const rows = new Map<string, Row>();
  const state = {
    loads: 0,
    away: false,
    hold: undefined as Promise<void> | undefined,
    lifeMs: options.lifeMs ?? 60_000,
  };
  const cache = new RecordCache<Row>({
    load: async (key) => {
      state.loads++;
      const row = rows.get(key);
      await state.hold;
      if (state.away) throw new Error('away');
      return row;
    },
    lifeMs: () => state.lifeMs,
    missingMs: options.missingMs ?? 60_000,
    staleOnErrorMs: 60_000,
    entriesMax: options.entriesMax ?? 100,
  });
  return { rows, state, cache };
}

const row = (id: string, version = 1): Row => ({ id, version });

describe('a record', () => {
  test('is loaded once, however many ask at once and after', async () => {
    const { rows, state, cache } = cacheOf();
    rows.set('a', row('a'));
    await Promise.all(Array.from({ length: 20 }, () => cache.find('a')));
    expect(await cache.find('a')).toEqual(row('a'));
    expect(state.loads).toBe(1);
  });

  test('is loaded again when its life is over, however often it was used', async () => {
    const { rows, state, cache } = cacheOf({ lifeMs: 30 });
    rows.set('a', row('a'));
    const startedAtMs = performance.now();
    while (state.loads < 3) await cache.find('a');
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(59);
  });

  test('is loaded again after it was dropped, others are not', async () => {
    const { rows, state, cache } = cacheOf();
    for (const id of ['a', 'b']) rows.set(id, row(id));
    await Promise.all([cache.find('a'), cache.find('b')]);
    rows.set('a', row('a', 2));
    cache.drop(({ id }) => id === 'a');
    expect([await cache.find('a'), await cache.find('b')]).toEqual([row('a', 2), row('b')]);
    expect(state.loads).toBe(3);
  });

  test('whose load was under way when something was dropped is not remembered', async () => {
    const { rows, state, cache } = cacheOf();
    rows.set('a', row('a'));
    let release = () => {};
    state.hold = new Promise((resolve) => {
      release = resolve;
    });
    const early = cache.find('a');
    rows.set('a', row('a', 2));
    cache.drop(() => false);
    const late = cache.find('a');
    release();
    expect(await early).toEqual(row('a'));
    expect(await late).toEqual(row('a', 2));
    expect(await cache.find('a')).toEqual(row('a', 2));
  });

  test('beyond the bound displaces the oldest', async () => {
    const { rows, state, cache } = cacheOf({ entriesMax: 2 });
    for (const id of ['a', 'b', 'c']) rows.set(id, row(id));
    for (const id of ['a', 'b', 'c', 'c', 'b']) await cache.find(id);
    expect(state.loads).toBe(3);
    await cache.find('a');
    expect(state.loads).toBe(4);
  });
});

test('records of more bytes than the cache may have displace the oldest, however few they are', async () => {
  let loads = 0;
  const cache = new RecordCache<string>({
    load: async () => {
      loads++;
      return 'x'.repeat(400);
    },
    lifeMs: () => 60_000,
    ...{ missingMs: 60_000, staleOnErrorMs: 60_000, entriesMax: 100 },
    sizes: { bytesMax: 1_000, bytesOf: (text) => text.length },
  });
  for (const key of ['a', 'b', 'c', 'c', 'b']) await cache.find(key);
  expect(loads).toBe(3);
  await cache.find('a');
  expect(loads).toBe(4);
});

describe('a key without a record', () => {
  test('is asked about once within its time, and again after any change', async () => {
    const { rows, state, cache } = cacheOf();
    expect([await cache.find('a'), await cache.find('a')]).toEqual([undefined, undefined]);
    expect(state.loads).toBe(1);
    rows.set('a', row('a'));
    cache.drop(() => false);
    expect(await cache.find('a')).toEqual(row('a'));
  });

  test('displaces no record, also in a flood', async () => {
    const { rows, state, cache } = cacheOf({ entriesMax: 10 });
    rows.set('a', row('a'));
    await cache.find('a');
    for (let i = 0; i < 5_000; i++) await cache.find(`unknown ${i}`);
    const before = state.loads;
    await cache.find('a');
    expect(state.loads).toBe(before);
  });
});

describe('while loading fails', () => {
  test('the last answer holds, also one in doubt', async () => {
    const { rows, state, cache } = cacheOf();
    rows.set('a', row('a'));
    await cache.find('a');
    state.away = true;
    cache.doubt();
    expect(await cache.find('a')).toEqual(row('a'));
    expect(state.loads).toBe(2);
  });

  test('nobody tries again at once', async () => {
    const { rows, state, cache } = cacheOf();
    rows.set('a', row('a'));
    await cache.find('a');
    state.away = true;
    cache.doubt();
    for (let i = 0; i < 10; i++) await cache.find('a');
    expect(state.loads).toBe(2);
  });

  test('a dropped record and a key never seen are errors', async () => {
    const { rows, state, cache } = cacheOf();
    rows.set('a', row('a'));
    await cache.find('a');
    state.away = true;
    cache.drop(() => true);
    await expect(cache.find('a')).rejects.toThrow('away');
    await expect(cache.find('b')).rejects.toThrow('away');
  });
});
