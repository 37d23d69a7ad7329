import fc from 'fast-check';
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
  nowMs = startMs,
) {
  return Array.from({ length: count }, () => schedule.turnOf(workspaceId, shareOf(cost), { nowMs, baseS }).priority);
}

describe('the priority of a body', () => {
  it('of a workspace with nothing waiting is the time that it came', () => {
    expect(flood(new LaneSchedule(), 'quiet', { count: 1, cost: 1_000 })).toEqual([50]);
  });

  it('is before the backlog of another workspace that came seconds earlier', () => {
    const schedule = new LaneSchedule();
    const busy = flood(schedule, 'busy', { count: 40, cost: mebibyte });
    const [quiet = 0] = flood(schedule, 'quiet', { count: 1, cost: mebibyte }, startMs + 5_000);
    expect(busy.filter((priority) => priority < quiet).length).toBe(5);
    expect(busy.at(-1)).toBe(50 + 39);
  });

  it('is behind a new body of another workspace, however long the backlog has waited', () => {
    const schedule = new LaneSchedule();
    const busy = flood(schedule, 'busy', { count: 10_000, cost: mebibyte });
    const [quiet = 0] = flood(schedule, 'quiet', { count: 1, cost: 1 }, startMs + 3_600_000);
    expect(busy.filter((priority) => priority < quiet).length).toBe(3_600);
  });

  it('is never more than a day behind, so that whatever waits is served before what comes then', () => {
    const schedule = new LaneSchedule();
    const busy = flood(schedule, 'busy', { count: 1_000, cost: 1_000 * mebibyte });
    const [quiet = 0] = flood(schedule, 'quiet', { count: 1, cost: 1 }, startMs + 86_401_000);
    expect(Math.max(...busy)).toBe(50 + 86_400);
    expect(quiet).toBeGreaterThan(50 + 86_400);
  });

  it('follows what Redis says is waiting, sent by another process too', () => {
    const schedule = new LaneSchedule();
    schedule.learn('busy', 'ingest', { cost: 20 * mebibyte, atMs: startMs });
    expect(flood(schedule, 'busy', { count: 1, cost: 1 })).toEqual([70]);
    expect(flood(schedule, 'busy', { count: 1, cost: 1 }, startMs + 15_000)).toEqual([70]);
    expect(flood(schedule, 'busy', { count: 1, cost: 1 }, startMs + 60_000)).toEqual([110]);
  });

  it('is not before that of an earlier body of the same workspace, although the workers are fast, until they are done', () => {
    const schedule = new LaneSchedule();
    const last = flood(schedule, 'busy', { count: 3_000, cost: mebibyte }).at(-1);
    schedule.learn('busy', 'ingest', { cost: 500 * mebibyte, atMs: startMs + 60_000 });
    expect(flood(schedule, 'busy', { count: 1, cost: mebibyte }, startMs + 60_000)).toEqual([last]);
    schedule.learn('busy', 'ingest', { cost: mebibyte, atMs: startMs + 90_000 });
    expect(flood(schedule, 'busy', { count: 1, cost: mebibyte }, startMs + 90_000)).toEqual([141]);
  });

  it('is shortly after the turn of the next body, if the workers are slower than was expected', () => {
    const schedule = new LaneSchedule();
    const busy = flood(schedule, 'busy', { count: 900, cost: mebibyte });
    const nowMs = startMs + 640_000;
    // Of the 900 bodies 100 are done.
    schedule.learnNext('ingest', { dueS: baseS + 150, atMs: nowMs });
    const [quiet = 0] = flood(schedule, 'quiet', { count: 1, cost: 1 }, nowMs);
    expect(busy.filter((priority) => priority < quiet).length).toBe(100 + Math.ceil(540 / 32));
    schedule.learnNext('ingest', { dueS: undefined, atMs: nowMs });
    expect(flood(schedule, 'quiet', { count: 1, cost: 1 }, nowMs)).toEqual([690]);
  });

  it('is the time of the lane, which goes on also if the next body stays the same, and never goes back', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ waitedS: fc.nat(600), servedS: fc.nat(600) })), (steps) => {
        const schedule = new LaneSchedule();
        let [nowMs, next] = [startMs, baseS + 50];
        const turns = steps.map(({ waitedS, servedS }, index) => {
          nowMs += waitedS * 1_000;
          next = Math.min(next + servedS, nowMs / 1_000);
          schedule.learnNext('ingest', { dueS: next, atMs: nowMs });
          return flood(schedule, `quiet ${index}`, { count: 1, cost: 1 }, nowMs)[0] ?? 0;
        });
        expect(turns).toEqual(turns.toSorted((a, b) => a - b));
        schedule.learnNext('ingest', { dueS: next, atMs: nowMs + 32_000 });
        expect(flood(schedule, 'later', { count: 1, cost: 1 }, nowMs + 32_000)[0]).toBeGreaterThan(turns.at(-1) ?? 0);
      }),
    );
  });

  it('tells the delay by the backlog of its workspace, however late the lane is', () => {
    const schedule = new LaneSchedule();
    const nowMs = startMs + 10_000_000;
    schedule.learn('busy', 'ingest', { cost: 20 * mebibyte, atMs: nowMs });
    schedule.learnNext('ingest', { dueS: baseS, atMs: nowMs });
    const delayOf = (workspaceId: string) => schedule.turnOf(workspaceId, shareOf(1), { nowMs, baseS }).delayS;
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
    expect(flood(new LaneSchedule(), 'any', { count: 1, cost: 1 }, nowMs)).toEqual([priority]);
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
