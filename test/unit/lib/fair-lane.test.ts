import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FairLane } from '../../../src/lib/fair-lane.ts';
import type { FairLaneOptions, Waiter } from '../../../src/lib/fair-lane-options.ts';

const options: FairLaneOptions = { name: 'tests', capacity: 2, perKey: 2, waitingPerKey: 100, waitingMax: 1_000 };

/** Work that ends when it is told to, and the order in which it began. */
function controlled(lane: FairLane) {
  const begun: string[] = [];
  const running: { label: string; end: () => void }[] = [];
  return {
    begun,
    add(key: string, label: string, more: { cost?: number; waiter?: Waiter } = {}) {
      const done = lane.run(
        key,
        () =>
          new Promise<void>((resolve) => {
            begun.push(label);
            running.push({ label, end: resolve });
          }),
        more,
      );
      done.catch(() => undefined);
      return done;
    },
    async endFirst() {
      running.shift()?.end();
      await settled();
    },
    running: () => running.length,
  };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

describe('FairLane', () => {
  it('serves a key that comes later before the backlog of another', async () => {
    const work = controlled(new FairLane({ ...options, capacity: 1, perKey: 1 }));
    for (let i = 0; i < 20; i++) work.add('busy', `busy ${i}`);
    work.add('quiet', 'quiet');
    await settled();
    await work.endFirst();
    await work.endFirst();
    expect(work.begun).toContain('quiet');
  });

  it('who is refused, or has waited too long, for work that cannot end is told why; who may wait does', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const away = new Error('the engine is away');
    let stuck: Error | undefined;
    const work = controlled(
      new FairLane({ ...options, capacity: 1, waitingPerKey: 1, waitMsMax: 1_000, whyStuck: () => stuck }),
    );
    work.add('a', 'held');
    const waiting = work.add('a', 'waits');
    await settled();
    stuck = away;
    await expect(work.add('a', 'finds no room')).rejects.toBe(away);
    vi.advanceTimersByTime(1_000);
    await expect(waiting).rejects.toBe(away);
    const inTime = work.add('a', 'waits in time');
    await work.endFirst();
    await work.endFirst();
    await inTime;
    expect(work.begun).toEqual(['held', 'waits in time']);
  });

  it('a key that wants more than it has holds less while others use the lane, and all again a second later', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const work = controlled(new FairLane({ ...options, capacity: 8, perKey: 4, perBusyKey: 1 }));
    for (let i = 0; i < 20; i++) work.add('busy', `busy ${i}`);
    await settled();
    expect(work.running()).toBe(4);
    for (let i = 0; i < 3; i++) work.add('modest', `modest ${i}`);
    await settled();
    expect(work.begun.slice(4)).toEqual(['modest 0', 'modest 1', 'modest 2']);
    for (let i = 0; i < 3; i++) await work.endFirst();
    expect(work.begun).toHaveLength(7);
    await work.endFirst();
    expect(work.begun.at(-1)).toBe('busy 4');
    await vi.advanceTimersByTimeAsync(1_000);
    await work.endFirst();
    expect(work.begun.slice(8)).toEqual(['busy 5', 'busy 6', 'busy 7']);
  });

  it('refuses work that has waited too long: 429 behind work of its own key, 503 behind that of others', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const work = controlled(new FairLane({ ...options, capacity: 2, perKey: 1, waitMsMax: 1_000 }));
    work.add('a', 'a runs');
    work.add('b', 'b runs');
    const refused = ['a', 'a', 'c'].map((key) => work.add(key, `${key} waits`).catch((error: unknown) => error));
    await vi.advanceTimersByTimeAsync(999);
    const later = work.add('d', 'd waits');
    await vi.advanceTimersByTimeAsync(1);
    const message = expect.stringContaining('did not start within 1 s');
    expect(await Promise.all(refused)).toMatchObject([
      { code: 'workspace_busy', kind: 'rate_limited', message },
      { code: 'workspace_busy', kind: 'rate_limited', message },
      { code: 'server_busy', kind: 'unavailable', message },
    ]);
    await work.endFirst();
    expect(work.begun).toEqual(['a runs', 'b runs', 'd waits']);
    await vi.advanceTimersByTimeAsync(5_000);
    await work.endFirst();
    await work.endFirst();
    await expect(later).resolves.toBeUndefined();
  });

  it('refuses work that has waited too long with 429 if its key holds as much as it may while others use the lane', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const work = controlled(new FairLane({ ...options, capacity: 4, perKey: 3, perBusyKey: 1, waitMsMax: 500 }));
    for (const key of ['a', 'a', 'a', 'b']) work.add(key, key);
    const refused = work.add('a', 'a waits').catch((error: unknown) => error);
    await work.endFirst();
    await work.endFirst();
    await vi.advanceTimersByTimeAsync(500);
    expect(await refused).toMatchObject({ code: 'workspace_busy' });
  });

  it('gives one key no more than its share while the rest of the lane is free', async () => {
    const work = controlled(new FairLane({ ...options, capacity: 4, perKey: 2 }));
    for (let i = 0; i < 5; i++) work.add('busy', `busy ${i}`);
    work.add('quiet', 'quiet');
    await settled();
    expect(work.begun).toEqual(['busy 0', 'busy 1', 'quiet']);
  });

  it('runs work that costs more than a share, alone among that of its key', async () => {
    const work = controlled(new FairLane({ ...options, capacity: 10, perKey: 5 }));
    work.add('a', 'huge', { cost: 1_000 });
    work.add('a', 'small');
    work.add('b', 'other', { cost: 5 });
    await settled();
    expect(work.begun).toEqual(['huge', 'other']);
    await work.endFirst();
    expect(work.begun).toEqual(['huge', 'other', 'small']);
  });

  it('starts work that needs the whole lane, although small work of another key never stops coming', async () => {
    const work = controlled(new FairLane({ ...options, capacity: 8, perKey: 8 }));
    for (let at = 0; at < 4; at++) work.add('small', `small ${at}`);
    work.add('large', 'large', { cost: 8 });
    await settled();
    for (let at = 4; at < 8; at++) {
      work.add('small', `small ${at}`);
      await work.endFirst();
    }
    expect(work.begun).toEqual(['small 0', 'small 1', 'small 2', 'small 3', 'large']);
    await work.endFirst();
    expect(work.begun.slice(5)).toEqual(['small 4', 'small 5', 'small 6', 'small 7']);
  });

  it('refuses a key that has too much waiting with workspace_busy, and goes on serving the others', async () => {
    const work = controlled(new FairLane({ ...options, capacity: 2, perKey: 1, waitingPerKey: 2 }));
    for (let i = 0; i < 3; i++) work.add('busy', `busy ${i}`);
    await expect(work.add('busy', 'one too many')).rejects.toMatchObject({ code: 'workspace_busy', retryAfterS: 1 });
    work.add('quiet', 'quiet');
    await settled();
    expect(work.begun).toEqual(['busy 0', 'quiet']);
  });

  it('refuses with server_busy when all keys together have too much waiting', async () => {
    const work = controlled(new FairLane({ ...options, capacity: 1, perKey: 1, waitingMax: 2 }));
    for (const key of ['a', 'b', 'c']) work.add(key, key);
    await expect(work.add('d', 'd')).rejects.toMatchObject({ code: 'server_busy' });
  });

  it('forgets work whose signal is aborted while it waits', async () => {
    const lane = new FairLane({ ...options, capacity: 1, perKey: 1 });
    const work = controlled(lane);
    const gone = new AbortController();
    work.add('a', 'first');
    const second = work.add('a', 'second', { waiter: gone });
    work.add('a', 'third');
    await settled();
    gone.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    await work.endFirst();
    expect(work.begun).toEqual(['first', 'third']);
    await work.endFirst();
    expect([lane.held, lane.waiting]).toEqual([0, 0]);
  });

  it('gives the place back when the work throws', async () => {
    const lane = new FairLane({ ...options, capacity: 1, perKey: 1 });
    await expect(lane.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(lane.held).toBe(0);
  });

  it('holds its bounds, runs everything once and in order within a key, whatever comes', async () => {
    const piece = fc.record({ key: fc.constantFrom('a', 'b', 'c'), cost: fc.integer({ min: 1, max: 9 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
        const lane = new FairLane({ ...options, capacity: 10, perKey: 6 });
        const work = controlled(lane);
        for (const [index, { key, cost }] of pieces.entries()) work.add(key, `${key} ${index}`, { cost });
        await settled();
        while (work.running() > 0) {
          expect(lane.held).toBeLessThanOrEqual(10);
          await work.endFirst();
        }
        expect([lane.held, lane.waiting]).toEqual([0, 0]);
        for (const key of ['a', 'b', 'c']) {
          const own = pieces.flatMap((each, index) => (each.key === key ? [`${key} ${index}`] : []));
          expect(work.begun.filter((label) => label.startsWith(key))).toEqual(own);
        }
      }),
      { numRuns: 200 },
    );
  });
});
