import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type BatchEntry,
  SpanBatcher,
  type SpanBatcherOptions,
} from '../../../src/domains/ingestion/store/span-batcher.ts';
import { WriteSlots } from '../../../src/domains/ingestion/store/write-slots.ts';

const limits = {
  rowsMax: 100,
  bytesMax: 1_000_000,
  entriesMax: 50,
  waitMsMax: 200,
  patientRowsMin: 60,
  patientWaitMsMax: 600,
  togetherBytesMax: 80,
  togetherRowsMax: 1_000,
  joinedRowsFew: 10,
} satisfies Omit<SpanBatcherOptions, 'write' | 'slots'>;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const slotsOf = (stored: number, manyJoined = new WriteSlots(1)) => ({
  stored: new WriteSlots(stored),
  fewJoined: new WriteSlots(1),
  manyJoined,
});

/** A batcher whose writes end when they are told to. */
function controlled(given: Partial<SpanBatcherOptions> = {}) {
  const writes: { workspaces: string[]; end: (error?: Error) => void }[] = [];
  const batcher = new SpanBatcher({
    ...limits,
    slots: slotsOf(2),
    ...given,
    write: (entries) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error === undefined ? resolve(new Map()) : reject(error));
        writes.push({ workspaces: entries.map(({ workspaceId }) => workspaceId), end });
      }),
  });
  let added = 0;
  const add = (workspaceId: string, rows = 1, isJoined = false) => {
    const encoded = { spanCount: rows, traces: [], rows: { bytes: Buffer.alloc(rows) } };
    const ids = { jobId: String(added++), receivedAtMs: 0, projectId: workspaceId, workspaceId };
    const done = batcher.add({ ...ids, isJoined, encoded: encoded as unknown as BatchEntry['encoded'] });
    done.catch(() => undefined);
    return done;
  };
  const settle = () => vi.advanceTimersByTimeAsync(0);
  return { add, batcher, writes, settle, wait: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

describe('workspaces whose entries are joined with log records', () => {
  it('are written together and apart from the others, one batch at a time', async () => {
    const { add, writes, wait, settle } = controlled();
    add('a');
    add('logs', 1, true);
    add('b');
    add('more logs', 1, true);
    await wait(200);
    expect(writes.map(({ workspaces }) => workspaces)).toEqual([
      ['a', 'b'],
      ['logs', 'more logs'],
    ]);
    writes[0]?.end();
    await settle();
    add('other logs', 1, true);
    add('a');
    await wait(200);
    expect(writes.map(({ workspaces }) => workspaces).slice(2)).toEqual([['a']]);
    writes[1]?.end();
    await settle();
    expect(writes.map(({ workspaces }) => workspaces).slice(3)).toEqual([['other logs']]);
  });

  it('wait for none that has many rows, and not for a write of it', async () => {
    const { add, writes, wait } = controlled();
    for (let i = 0; i < 11; i++) add('many', 1, true);
    add('few', 1, true);
    await wait(200);
    expect(writes.map(({ workspaces }) => new Set(workspaces))).toEqual([new Set(['many']), new Set(['few'])]);
    writes[1]?.end();
    for (let i = 0; i < 11; i++) add('many too', 1, true);
    add('few', 1, true);
    await wait(200);
    expect(writes.map(({ workspaces }) => workspaces).slice(2)).toEqual([['few']]);
  });

  it('wait for none that has a large entry, and not for a write of it', async () => {
    const { add, writes, wait } = controlled({ joinedRowsFew: 1_000 });
    add('large', 81, true);
    add('few', 1, true);
    await wait(600);
    expect(writes.map(({ workspaces }) => workspaces)).toEqual([['few'], ['large']]);
    writes[0]?.end();
    add('large', 81, true);
    add('few', 1, true);
    await wait(200);
    expect(writes.map(({ workspaces }) => workspaces).slice(2)).toEqual([['few']]);
  });

  it('and have many rows take turns with those of another batcher', async () => {
    const slots = slotsOf(2);
    const [one, other] = [controlled({ slots }), controlled({ slots: slotsOf(2, slots.manyJoined) })];
    const addMany = ({ add }: typeof one, workspaceId: string) => {
      for (let i = 0; i < 11; i++) add(workspaceId, 1, true);
    };
    for (const batcher of [one, other]) addMany(batcher, 'many');
    await one.wait(200);
    addMany(one, 'many too');
    await one.wait(200);
    expect([one.writes.length, other.writes.length]).toEqual([1, 0]);
    one.writes[0]?.end();
    await one.settle();
    expect([one.writes.length, other.writes.length]).toEqual([1, 1]);
    other.writes[0]?.end();
    await one.settle();
    expect([one.writes.length, other.writes.length]).toEqual([2, 1]);
  });
});

describe('a batch', () => {
  it('has what came within the wait, of all workspaces', async () => {
    const { add, writes, wait } = controlled();
    for (const id of ['a', 'b', 'a', 'c']) add(id);
    await wait(199);
    expect(writes).toHaveLength(0);
    await wait(1);
    expect(writes.map(({ workspaces }) => workspaces)).toEqual([['a', 'b', 'c', 'a']]);
  });

  it('that is full takes the entries of all workspaces in turn', async () => {
    const { add, writes, settle } = controlled({ slots: slotsOf(1) });
    for (let i = 0; i < 30; i++) add('first', 4);
    await settle();
    expect(writes[0]?.workspaces).toHaveLength(25);
    for (let i = 0; i < 30; i++) add('busy', 4);
    add('quiet', 4);
    writes[0]?.end();
    await settle();
    expect(writes[1]?.workspaces).toHaveLength(25);
    expect(writes[1]?.workspaces).toContain('quiet');
    expect(writes[1]?.workspaces.filter((id) => id === 'first')).toHaveLength(5);
  });

  it('never takes more rows than it may, and goes on at once with the rest', async () => {
    const { add, writes, settle } = controlled();
    for (let i = 0; i < 60; i++) add('busy', 10);
    await settle();
    for (let at = 0; at < 6; at++) {
      expect(writes[at]?.workspaces).toHaveLength(10);
      writes[at]?.end();
      await settle();
    }
    expect(writes).toHaveLength(6);
  });

  it('of a workspace with many rows goes on filling while the others are written', async () => {
    const { add, writes, wait } = controlled();
    add('busy', 60);
    add('quiet');
    await wait(200);
    expect(writes.map(({ workspaces }) => workspaces)).toEqual([['quiet']]);
    await wait(400);
    expect(writes[1]?.workspaces).toEqual(['busy']);
  });
});

describe.each([
  { in: 'bytes', given: {} },
  { in: 'rows', given: { togetherBytesMax: 1_000_000, togetherRowsMax: 80 } },
])('an entry that is large in its $in', ({ given }) => {
  const large = limits.togetherBytesMax + 1;

  it('is written by itself, whoever else has something due', async () => {
    const { add, batcher, writes, settle } = controlled(given);
    add('quiet');
    add('large', large);
    add('other');
    add('large');
    batcher.flush();
    await settle();
    expect(writes.map(({ workspaces }) => workspaces)).toEqual([['quiet', 'other'], ['large']]);
  });

  it('waits for another that is being written, and leaves the other write to those who are small', async () => {
    const { add, writes, wait } = controlled(given);
    add('first', large);
    await wait(600);
    add('second', large);
    await wait(600);
    add('quiet');
    await wait(200);
    expect(writes.map(({ workspaces }) => workspaces)).toEqual([['first'], ['quiet']]);
    writes[0]?.end();
    await wait(0);
    expect(writes[2]?.workspaces).toEqual(['second']);
  });

  it('takes turns with those who are small where there is one write', async () => {
    const { add, writes, wait } = controlled({ ...given, slots: slotsOf(1) });
    add('large', large);
    add('quiet');
    add('large', large);
    await wait(600);
    for (let at = 0; at < 3; at++) {
      writes[at]?.end();
      await wait(600);
    }
    expect(writes.map(({ workspaces }) => workspaces)).toEqual([['large'], ['quiet'], ['large']]);
  });
});

describe('while the write of one workspace does not end', () => {
  it('another workspace is written after its own wait', async () => {
    const { add, writes, wait } = controlled();
    add('stuck', 100);
    await wait(0);
    const stored = add('quiet');
    for (let i = 0; i < 20; i++) add('stuck', 10);
    await wait(200);
    expect(writes.map(({ workspaces }) => workspaces)).toEqual([['stuck'], ['quiet']]);
    writes[1]?.end();
    await expect(stored).resolves.toBeUndefined();
  });

  it('it has no second write, however much it has waiting', async () => {
    const { add, batcher, writes, wait } = controlled();
    for (let i = 0; i < 10; i++) add('stuck', 100);
    batcher.flush();
    await wait(1_000);
    expect(writes).toHaveLength(1);
    writes[0]?.end();
    await wait(0);
    expect(writes).toHaveLength(2);
  });
});

it('a write that fails rejects its entries and leaves the others alone', async () => {
  const { add, writes, wait } = controlled();
  const first = add('a');
  await wait(200);
  const second = add('b');
  await wait(200);
  writes[0]?.end(new Error('no engine'));
  writes[1]?.end();
  await expect(first).rejects.toThrow('no engine');
  await expect(second).resolves.toBeUndefined();
});
