import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { UnknownRecords } from '../../../src/domains/auth/unknown-records.ts';
import { ReadLanes } from '../../../src/domains/executions/read-lanes.ts';
import { Admission } from '../../../src/domains/ingestion/receive/admission.ts';
import { createWorkLanes } from '../../../src/domains/ingestion/store/work-lanes.ts';
import { WorkLanes } from '../../../src/domains/templates/threads/work-lanes.ts';
import { RequestLanes } from '../../../src/http/request-lanes.ts';
import type { WorkspaceId } from '../../../src/lib/ids.ts';

type Work = () => Promise<void>;
type Enter = (workspaceId: WorkspaceId, work: Work) => Promise<unknown>;

const mebibyte = 1024 * 1024;
const signal = new AbortController().signal;
const waiter = { signal };

function requests(rateClass: 'read' | 'write' | 'render' | 'analytics', bodyBytes = 0): () => Enter {
  return () => {
    const lanes = new RequestLanes();
    return (sharer, work) => lanes.run({ rateClass, operationId: 'x' }, { sharer, waiter, bodyBytes }, work);
  };
}

function reads(lane: 'quick' | 'search' | 'large'): () => Enter {
  return () => {
    const lanes = new ReadLanes();
    return (workspaceId, work) => lanes[lane]({ workspaceId, signal }, work);
  };
}

function bodiesOfAWorker(inflatedBytes: number): () => Enter {
  return () => {
    const hold = createWorkLanes();
    const facts = { v: 1, encoding: 'json', coding: 'identity', spans: 1, inflatedBytes } as const;
    const own = { projectId: 'prj_x', retentionDays: 1, receivedAtMs: 0 };
    return (workspaceId, work) => hold({ ...own, ...facts, workspaceId }, work);
  };
}

/** Each lane, and how many pieces of a busy workspace's work have to end before that of another one begins. */
const lanes: readonly [name: string, create: () => Enter, endedBefore: number][] = [
  ['requests that read records', requests('read'), 0],
  ['requests that write records', requests('write'), 0],
  ['renders', requests('render'), 0],
  ['renders with a mebibyte of variables', requests('render', mebibyte), 0],
  ['requests that read executions', requests('analytics'), 0],
  [
    'large bodies that are parsed',
    () => {
      const requestLanes = new RequestLanes();
      return (sharer, work) => requestLanes.runParse(sharer, work);
    },
    0,
  ],
  [
    'bodies of spans',
    () => {
      const admission = new Admission();
      return (workspaceId, work) => admission.hold(workspaceId, work);
    },
    0,
  ],
  [
    'executions that are converted',
    () => {
      const admission = new Admission();
      return (workspaceId, work) => admission.convert(workspaceId, work);
    },
    0,
  ],
  ['plain reads of executions', reads('quick'), 0],
  ['searches of executions', reads('search'), 0],
  ['reads of large executions', reads('large'), 0],
  [
    'templates',
    () => {
      const workLanes = new WorkLanes();
      return (workspaceId, work) => workLanes.run(workspaceId, waiter, work);
    },
    0,
  ],
  [
    'look-ups of keys that nobody has, by address',
    () => {
      const keys = new UnknownRecords<void>('API keys', 64);
      let looked = 0;
      return (address, work) => keys.find(`key ${looked++}`, address, () => work());
    },
    0,
  ],
  ['small bodies in the memory of a worker', bodiesOfAWorker(mebibyte / 2), 0],
  ['large bodies in the memory of a worker', bodiesOfAWorker(26 * mebibyte), 1],
];

describe('while one workspace has as much work as is taken from it, another one has its turn', () => {
  // Large work rests between its slices.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(async () => {
    // The last rests are over, or who rests in another test would wait for them.
    await settled();
    vi.useRealTimers();
  });

  test.each(lanes)('%s', async (_name, create, endedBefore) => {
    const enter = create();
    const [busy, other] = ['wsp_busy', 'wsp_other'] as WorkspaceId[] as [WorkspaceId, WorkspaceId];
    const ends: (() => void)[] = [];
    const held = () => new Promise<void>((resolve) => ends.push(resolve));
    // Refusals are the busy workspace's own, and what else there is to wait for is more than any lane holds at once.
    const asked = Array.from({ length: 300 }, () => enter(busy, held).catch((error: unknown) => error));
    await settled();
    expect(ends.length).toBeGreaterThan(0);
    let begun = false;
    const done = enter(other, async () => {
      begun = true;
    });
    for (let ended = 0; ; ended++) {
      await settled();
      if (begun || ended > endedBefore) {
        expect([begun, ended]).toEqual([true, endedBefore]);
        break;
      }
      ends.shift()?.();
    }
    await done;
    let over = false;
    const all = Promise.all(asked).finally(() => {
      over = true;
    });
    while (!over) {
      for (const end of ends.splice(0)) end();
      await turn();
    }
    const refusals = (await all).filter((result) => result instanceof Error);
    expect(refusals.map((error) => 'code' in error && error.code)).not.toContain('server_busy');
  });
});

/** What can begin without anything that ends has begun. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 200; turns++) await turn();
}

/** A turn of the event loop, which takes a millisecond. */
async function turn(): Promise<void> {
  await nextTurn();
  vi.advanceTimersByTime(1);
}
