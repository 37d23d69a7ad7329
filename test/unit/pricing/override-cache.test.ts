import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OverrideCache } from '../../../src/domains/pricing/override-cache.ts';
import { noOverrides, type PriceOverrides } from '../../../src/domains/pricing/price-overrides.ts';
import { UnavailableError } from '../../../src/lib/errors.ts';

const [first, second]: PriceOverrides[] = [new Map([['a', []]]), new Map([['b', []]])];
const away = new UnavailableError('postgres_unavailable', 'away');

/** A database of one answer, which a test may change; `asked` are the projects it was asked for. */
function database(answer: () => Promise<PriceOverrides | undefined>) {
  const asked: string[] = [];
  const cache = new OverrideCache((projectId) => {
    asked.push(projectId);
    return answer();
  });
  return { asked, cache };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('own prices of a project', () => {
  test('are read once by many who ask at once, and once a second', async () => {
    const { asked, cache } = database(async () => first);
    expect(await Promise.all([cache.of('p'), cache.of('p'), cache.of('q')])).toEqual([first, first, first]);
    vi.advanceTimersByTime(999);
    await cache.of('p');
    expect(asked).toEqual(['p', 'q']);
    vi.advanceTimersByTime(1);
    await cache.of('p');
    expect(asked).toEqual(['p', 'q', 'p']);
  });

  test('are forgotten once other projects have more than 50,000', async () => {
    const prices = new Map([['a', Array(30_000).fill({})]]) as PriceOverrides;
    const { asked, cache } = database(async () => prices);
    for (const project of ['p', 'q', 'p']) await cache.of(project);
    expect(asked).toEqual(['p', 'q', 'p']);
  });

  test('are none when there are none', async () => {
    const { cache } = database(async () => undefined);
    expect(await cache.of('p')).toBe(noOverrides);
  });

  test('hold anew a second after a change, for the first who asks', async () => {
    let answer = first;
    const { cache } = database(async () => answer);
    await cache.of('p');
    answer = second;
    vi.advanceTimersByTime(1_000);
    expect(await cache.of('p')).toBe(second);
  });
});

describe('while the database is away', () => {
  test('the last answer holds, and the database is asked once a second', async () => {
    let answer = async (): Promise<PriceOverrides | undefined> => first;
    const { asked, cache } = database(() => answer());
    await cache.of('p');
    answer = () => Promise.reject(away);
    vi.advanceTimersByTime(60_000);
    expect([await cache.of('p'), await cache.of('p')]).toEqual([first, first]);
    expect(asked).toHaveLength(2);
    answer = async () => second;
    vi.advanceTimersByTime(1_000);
    expect(await cache.of('p')).toBe(second);
  });

  test('the last answer holds after half a second when the database does not even refuse', async () => {
    let answer = async (): Promise<PriceOverrides | undefined> => first;
    const { cache } = database(() => answer());
    await cache.of('p');
    answer = () => new Promise(() => undefined);
    vi.advanceTimersByTime(2_000);
    const held = cache.of('p');
    await vi.advanceTimersByTimeAsync(500);
    expect(await held).toBe(first);
  });

  test('nothing is assumed of a project not seen before, and it is asked for again', async () => {
    let answer = (): Promise<PriceOverrides | undefined> => Promise.reject(away);
    const { cache } = database(() => answer());
    await expect(cache.of('p')).rejects.toBe(away);
    answer = async () => first;
    expect(await cache.of('p')).toBe(first);
  });
});
