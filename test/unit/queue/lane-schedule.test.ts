import { describe, expect, it } from 'vitest';
import type { BacklogShare } from '../../../src/queue/backlog.ts';
import { costBytesMin, costOf, laneOf, largeBodyBytes, largeRepeatedBytes } from '../../../src/queue/ingest-lanes.ts';
import { LaneSchedule } from '../../../src/queue/lane-schedule.ts';

const baseS = 1_000;
const startMs = (baseS + 50) * 1_000;
const mebibyte = 1024 * 1024;
const shareOf = (cost: number): BacklogShare => ({ lane: 'ingest', bytes: cost, cost });

/** Publishes `count` bodies of one workspace at once and tells their priorities. */
function flood(
  schedule: LaneSchedule,
  workspaceId: string,
  { count, cost }: { count: number; cost: number },
  { nowMs = startMs, nextDueS }: { nowMs?: number; nextDueS?: number | undefined } = {},
) {
  const at = { nowMs, baseS, nextDueS };
  return Array.from({ length: count }, () => schedule.turnOf(workspaceId, shareOf(cost), at).priority);
}

describe('the priority of a body', () => {
  it('of a workspace with nothing waiting is the time that it came', () => {
    expect(flood(new LaneSchedule(), 'quiet', { count: 1, cost: 1_000 })).toEqual([50]);
  });

  it('needs a backlog that was heard of in the last seconds, because other processes may have added to it', () => {
    const schedule = new LaneSchedule();
    expect(schedule.knows('busy', 'ingest', startMs)).toBe(false);
    flood(schedule, 'busy', { count: 1, cost: mebibyte });
    expect(schedule.knows('busy', 'ingest', startMs + 4_999)).toBe(true);
    expect(schedule.knows('busy', 'ingest', startMs + 5_000)).toBe(false);
    schedule.learn('busy', 'ingest', { cost: 600 * mebibyte, atMs: startMs + 60_000 });
    expect(flood(schedule, 'busy', { count: 1, cost: 1 }, { nowMs: startMs + 60_000 })).toEqual([50 + 60 + 600]);
  });

  it('is before the backlog of another workspace that came seconds earlier', () => {
    const schedule = new LaneSchedule();
    const busy = flood(schedule, 'busy', { count: 40, cost: mebibyte });
    const [quiet = 0] = flood(schedule, 'quiet', { count: 1, cost: mebibyte }, { nowMs: startMs + 5_000 });
    expect(busy.filter((priority) => priority < quiet).length).toBe(5);
    expect(busy.at(-1)).toBe(50 + 39);
  });

  it('is behind a new body of another workspace, however long the backlog has waited', () => {
    const schedule = new LaneSchedule();
    const busy = flood(schedule, 'busy', { count: 10_000, cost: mebibyte });
    const [quiet = 0] = flood(schedule, 'quiet', { count: 1, cost: 1 }, { nowMs: startMs + 3_600_000 });
    expect(busy.filter((priority) => priority < quiet).length).toBe(3_600);
  });

  it('is never more than a day behind, so that whatever waits is served before what comes then', () => {
    const schedule = new LaneSchedule();
    const busy = flood(schedule, 'busy', { count: 1_000, cost: 1_000 * mebibyte });
    const [quiet = 0] = flood(schedule, 'quiet', { count: 1, cost: 1 }, { nowMs: startMs + 86_401_000 });
    expect(Math.max(...busy)).toBe(50 + 86_400);
    expect(quiet).toBeGreaterThan(50 + 86_400);
  });

  it('follows what Redis says is waiting, sent by another process too', () => {
    const schedule = new LaneSchedule();
    schedule.learn('busy', 'ingest', { cost: 20 * mebibyte, atMs: startMs });
    expect(flood(schedule, 'busy', { count: 1, cost: 1 })).toEqual([70]);
    expect(flood(schedule, 'busy', { count: 1, cost: 1 }, { nowMs: startMs + 15_000 })).toEqual([70]);
    expect(flood(schedule, 'busy', { count: 1, cost: 1 }, { nowMs: startMs + 60_000 })).toEqual([110]);
  });

  it('is not before that of an earlier body of the same workspace, although the workers are fast, until they are done', () => {
    const schedule = new LaneSchedule();
    const last = flood(schedule, 'busy', { count: 3_000, cost: mebibyte }).at(-1);
    schedule.learn('busy', 'ingest', { cost: 500 * mebibyte, atMs: startMs + 60_000 });
    expect(flood(schedule, 'busy', { count: 1, cost: mebibyte }, { nowMs: startMs + 60_000 })).toEqual([last]);
    schedule.learn('busy', 'ingest', { cost: mebibyte, atMs: startMs + 90_000 });
    expect(flood(schedule, 'busy', { count: 1, cost: mebibyte }, { nowMs: startMs + 90_000 })).toEqual([141]);
  });

  it('is a second after the turn of the next body, if the workers are slower than was expected', () => {
    const schedule = new LaneSchedule();
    const busy = flood(schedule, 'busy', { count: 900, cost: mebibyte });
    // Of the 900 bodies 100 are done.
    const late = { nowMs: startMs + 640_000, nextDueS: baseS + 150 };
    expect(flood(schedule, 'quiet', { count: 1, cost: 1 }, late)).toEqual([151]);
    expect(busy.filter((priority) => priority <= 151).length).toBe(102);
    expect(flood(schedule, 'quiet', { count: 1, cost: 1 }, { nowMs: late.nowMs })).toEqual([690]);
  });

  it('of a backlog that stays as long follows the one before, although the time of the lane stands still', () => {
    const schedule = new LaneSchedule();
    const late = { nowMs: startMs + 3_600_000, nextDueS: baseS + 99 };
    const turns = Array.from({ length: 100 }, () => {
      const [turn = 0] = flood(schedule, 'busy', { count: 1, cost: mebibyte / 2 }, late);
      schedule.learn('busy', 'ingest', { cost: 60 * mebibyte, atMs: late.nowMs });
      return turn;
    });
    expect(turns.at(-1)).toBe((turns[1] ?? 0) + 49);
    expect(flood(schedule, 'quiet', { count: 1, cost: 1 }, late)).toEqual([100]);
  });

  it('lets nobody wait for more than a few seconds of a backlog, however long the workers are too slow', () => {
    const schedule = new LaneSchedule();
    const waiting: { turn: number; cost: number; workspaceId: string; atS: number }[] = [];
    const backlog = (workspaceId: string) =>
      waiting.reduce((sum, each) => (each.workspaceId === workspaceId ? sum + each.cost : sum), 0);
    const send = (workspaceId: string, cost: number, atS: number) => {
      const nextDueS = waiting[0] && waiting[0].turn + baseS;
      const [turn = 0] = flood(schedule, workspaceId, { count: 1, cost }, { nowMs: startMs + atS * 1_000, nextDueS });
      waiting.push({ turn, cost, workspaceId, atS });
      waiting.sort((a, b) => a.turn - b.turn);
      schedule.learn(workspaceId, 'ingest', { cost: backlog(workspaceId), atMs: startMs + atS * 1_000 });
    };
    let longestS = 0;
    for (let atS = 0; atS < 3_600; atS++) {
      send('quiet', costBytesMin, atS);
      while (backlog('busy') < 60 * mebibyte) send('busy', mebibyte, atS);
      // The workers store half of what was expected.
      if (atS % 2 === 1) continue;
      for (let left = mebibyte; left > 0; ) {
        const done = waiting.shift();
        left -= done?.cost ?? left;
        if (done?.workspaceId === 'quiet') longestS = Math.max(longestS, atS - done.atS);
      }
    }
    expect(longestS).toBeLessThan(8);
  });

  it('tells the delay by the backlog of its workspace, however late the lane is', () => {
    const schedule = new LaneSchedule();
    const nowMs = startMs + 10_000_000;
    schedule.learn('busy', 'ingest', { cost: 20 * mebibyte, atMs: nowMs });
    const delayOf = (workspaceId: string) =>
      schedule.turnOf(workspaceId, shareOf(1), { nowMs, baseS, nextDueS: baseS }).delayS;
    expect([delayOf('busy'), delayOf('quiet')]).toEqual([20, 0]);
  });

  it('counts the backlog of each lane for itself', () => {
    const schedule = new LaneSchedule();
    schedule.learn('busy', 'ingest-large', { cost: 200 * mebibyte, atMs: startMs });
    expect(flood(schedule, 'busy', { count: 1, cost: 1 })).toEqual([50]);
  });

  it.each([
    ['before the base, when clocks step back', (baseS - 9) * 1_000, 1],
    ['after more than BullMQ can sort by', (baseS + 2 ** 22) * 1_000, 2 ** 21],
  ])('%s stays what BullMQ takes', (_circumstance, nowMs, priority) => {
    expect(flood(new LaneSchedule(), 'any', { count: 1, cost: 1 }, { nowMs: nowMs })).toEqual([priority]);
  });
});

describe('the lane of a body', () => {
  it.each([
    [largeBodyBytes, 'ingest'],
    [largeBodyBytes + 1, 'ingest-large'],
  ])('of %d inflated bytes is %s', (inflatedBytes, lane) => {
    expect(laneOf({ inflatedBytes })).toBe(lane);
  });

  it.each([
    [largeRepeatedBytes, 'ingest'],
    [largeRepeatedBytes + 1, 'ingest-large'],
  ])('of few bytes whose rows repeat %d bytes is %s', (repeatedBytes, lane) => {
    expect(laneOf({ inflatedBytes: 1, repeatedBytes })).toBe(lane);
  });

  it('a tiny body costs what every body costs', () => {
    expect(costOf({ inflatedBytes: 1, spans: 1 })).toBe(costBytesMin);
  });

  it('a body of very many small items costs a KiB for each', () => {
    expect(costOf({ inflatedBytes: 100_000, spans: 10_000 })).toBe(10_000 * 1024);
    expect(costOf({ inflatedBytes: 100_000, spans: 50 })).toBe(100_000);
  });

  it('a body whose rows repeat much costs what they repeat', () => {
    expect(costOf({ inflatedBytes: 100_000, spans: 1, repeatedBytes: 200_000 })).toBe(200_000);
    expect(costOf({ inflatedBytes: 200_000, spans: 1, repeatedBytes: 100_000 })).toBe(200_000);
  });
});
