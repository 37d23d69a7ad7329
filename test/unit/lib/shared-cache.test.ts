import { describe, expect, test } from 'vitest';
import { SharedCache } from '../../../src/lib/shared-cache.ts';

/** A cache of 100 bytes, with so many values of 10 bytes of a workspace. */
function cacheWith(count: number): SharedCache<number> {
  const cache = new SharedCache<number>({ bytesMax: 100, entriesMax: 20 });
  for (let at = 0; at < count; at++) cache.set('wsp_a', `key ${at}`, at, 10);
  return cache;
}

const keptOf = (cache: SharedCache<number>, workspace: string) =>
  Array.from({ length: 40 }, (_, at) => at).filter((at) => cache.get(workspace, `key ${at}`) !== undefined);

describe('a full cache', () => {
  test('of one workspace loses what was not used for longest', () => {
    const cache = cacheWith(10);
    expect(cache.get('wsp_a', 'key 0')).toBe(0);
    cache.set('wsp_a', 'key 10', 10, 10);
    expect(keptOf(cache, 'wsp_a')).toEqual([0, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test('gives a workspace its own place from the one that has the most', () => {
    const cache = cacheWith(10);
    cache.set('wsp_b', 'key 0', 0, 20);
    for (let at = 10; at < 30; at++) cache.set('wsp_a', `key ${at}`, at, 10);
    expect([keptOf(cache, 'wsp_b'), keptOf(cache, 'wsp_a')]).toEqual([[0], [22, 23, 24, 25, 26, 27, 28, 29]]);
  });

  test('of many workspaces with little each loses what none has used for longest', () => {
    const cache = new SharedCache<number>({ bytesMax: 100, entriesMax: 20 });
    for (let at = 0; at < 20; at++) cache.set(`wsp_${at}`, 'key 0', at, 5);
    for (let at = 0; at < 2; at++) cache.set('wsp_a', `key ${at}`, at, 10);
    expect(cache.get('wsp_4', 'key 0')).toBe(4);
    cache.set('wsp_a', 'key 2', 2, 5);
    expect(keptOf(cache, 'wsp_a')).toEqual([0, 1, 2]);
    expect(Array.from({ length: 8 }, (_, at) => cache.get(`wsp_${at}`, 'key 0'))).toEqual([
      ...[undefined, undefined, undefined, undefined, 4, undefined, 6, 7],
    ]);
  });

  test('has a limited number of entries, however small', () => {
    const cache = new SharedCache<number>({ bytesMax: 100, entriesMax: 20 });
    for (let at = 0; at < 40; at++) cache.set('wsp_a', `key ${at}`, at, 0);
    expect(keptOf(cache, 'wsp_a')).toHaveLength(20);
  });
});

test('a value that is stored again counts once, and one larger than the cache is not kept', () => {
  const cache = cacheWith(9);
  for (let at = 0; at < 5; at++) cache.set('wsp_a', 'key 8', at, 10);
  expect(keptOf(cache, 'wsp_a')).toHaveLength(9);
  cache.set('wsp_b', 'key 0', 0, 101);
  expect([keptOf(cache, 'wsp_a').length, keptOf(cache, 'wsp_b')]).toEqual([9, []]);
});
