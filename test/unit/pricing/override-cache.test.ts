import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type LoadedPrices, OverrideCache } from '../../../src/domains/pricing/override-cache.ts';
import { noOverrides, type PriceOverrides } from '../../../src/domains/pricing/price-overrides.ts';
import { UnavailableError } from '../../../src/lib/errors.ts';

const [first, second]: PriceOverrides[] = [new Map([['a', []]]), new Map([['b', []]])];
const away = new UnavailableError('postgres_unavailable', 'away');

/**
 * A database of one answer, which a test may change; `asked` are the projects it was asked for, and `known` is what
 * the cache knew of them.
 */
function database(answer: () => Promise<PriceOverrides | undefined>) {
  const asked: string[] = [];
  const known: (LoadedPrices | undefined)[] = [];
  const cache = new OverrideCache(async ({ projectId }, before) => {
    asked.push(projectId);
    known.push(before);
    const overrides = await answer();
    return overrides && { overrides, version: 'a version' };
  });
  const of = (projectId: string, workspaceId = 'w') => cache.of({ projectId, workspaceId });
  return { asked, known, of };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('own prices of a project', () => {
  test('are read once by many who ask at once, and once a second', async () => {
    const { asked, of } = database(async () => first);
    expect(await Promise.all([of('p'), of('p'), of('q')])).toEqual([first, first, first]);
    vi.advanceTimersByTime(999);
    await of('p');
    expect(asked).toEqual(['p', 'q']);
    vi.advanceTimersByTime(1);
    await of('p');
    expect(asked).toEqual(['p', 'q', 'p']);
  });

  test('are forgotten once other projects have more than 50,000', async () => {
    const prices = new Map([['a', Array(30_000).fill({})]]) as PriceOverrides;
    const { asked, of } = database(async () => prices);
    for (const project of ['p', 'q', 'p']) await of(project);
    expect(asked).toEqual(['p', 'q', 'p']);
  });

  test('are kept while a workspace with very many replaces its own', async () => {
    const prices = new Map([['a', Array(500).fill({})]]) as PriceOverrides;
    const { asked, of } = database(async () => prices);
    await of('quiet', 'quiet');
    for (let nth = 0; nth < 200; nth++) await of(`busy-${nth}`, 'busy');
    await of('quiet', 'quiet');
    expect(asked).toHaveLength(201);
  });

  test('are known to the loader, which need not load them again', async () => {
    const { known, of } = database(async () => first);
    await of('p');
    vi.advanceTimersByTime(1_000);
    await of('p');
    expect(known).toEqual([undefined, { overrides: first, version: 'a version' }]);
  });

  test('are loaded for one project of a workspace at a time, and for two in all', async () => {
    const ends: (() => void)[] = [];
    const { asked, of } = database(() => new Promise((resolve) => ends.push(() => resolve(first))));
    const answers = [of('a1', 'a'), of('a2', 'a'), of('b1', 'b'), of('c1', 'c')];
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toEqual(['a1', 'b1']);
    while (ends.length > 0) {
      ends.shift()?.();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(asked).toEqual(['a1', 'b1', 'c1', 'a2']);
    expect(await Promise.all(answers)).toEqual([first, first, first, first]);
  });

  test('are none when there are none', async () => {
    const { of } = database(async () => undefined);
    expect(await of('p')).toBe(noOverrides);
  });

  test('hold anew a second after a change, for the first who asks', async () => {
    let answer = first;
    const { of } = database(async () => answer);
    await of('p');
    answer = second;
    vi.advanceTimersByTime(1_000);
    expect(await of('p')).toBe(second);
  });
});

describe('while the database is away', () => {
  test('the last answer holds, and the database is asked once a second', async () => {
    let answer = async (): Promise<PriceOverrides | undefined> => first;
    const { asked, of } = database(() => answer());
    await of('p');
    answer = () => Promise.reject(away);
    vi.advanceTimersByTime(60_000);
    expect([await of('p'), await of('p')]).toEqual([first, first]);
    expect(asked).toHaveLength(2);
    answer = async () => second;
    vi.advanceTimersByTime(1_000);
    expect(await of('p')).toBe(second);
  });

  test('the last answer holds after half a second when the database does not even refuse', async () => {
    let answer = async (): Promise<PriceOverrides | undefined> => first;
    const { of } = database(() => answer());
    await of('p');
    answer = () => new Promise(() => undefined);
    vi.advanceTimersByTime(2_000);
    const held = of('p');
    await vi.advanceTimersByTimeAsync(500);
    expect(await held).toBe(first);
  });

  test('nothing is assumed of a project not seen before, and it is asked for again', async () => {
    let answer = (): Promise<PriceOverrides | undefined> => Promise.reject(away);
    const { of } = database(() => answer());
    await expect(of('p')).rejects.toBe(away);
    answer = async () => first;
    expect(await of('p')).toBe(first);
  });
});
