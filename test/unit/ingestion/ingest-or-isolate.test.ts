import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import { describe, expect, test } from 'vitest';
import { type IngestOrIsolateDeps, ingestOrIsolate } from '../../../src/domains/ingestion/store/ingest-or-isolate.ts';
import { SpanBatcher } from '../../../src/domains/ingestion/store/span-batcher.ts';
import { createWorkLanes } from '../../../src/domains/ingestion/store/work-lanes.ts';
import { WriteSlots } from '../../../src/domains/ingestion/store/write-slots.ts';
import { OverrideCache } from '../../../src/domains/pricing/override-cache.ts';
import { UnavailableError } from '../../../src/lib/errors.ts';
import type { IngestBodyPayload } from '../../../src/queue/job-catalog.ts';
import { LogProjects } from '../../../src/queue/log-projects.ts';
import type { Postgres } from '../../../src/stores/postgres/client.ts';
import type { Redis } from '../../../src/stores/redis/client.ts';
import { createLatencyRecorder } from '../../../src/telemetry/latency.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { encodedBody } from '../../support/encoded-body.ts';
import { aSpan } from '../../support/spans.ts';

const own = { projectId: 'prj_1', workspaceId: 'wsp_1' };
const payload: IngestBodyPayload = {
  ...{ v: 1, retentionDays: 0, encoding: 'protobuf', coding: 'identity' },
  ...{ inflatedBytes: 100, spans: 1, receivedAtMs: Date.now() },
  ...own,
};

/** Works on a body that has failed so often before, with a batcher that fails with `error`; says what became of it. */
async function run(
  {
    attemptsMade,
    failures = 0,
    stalledCounter = 0,
  }: { attemptsMade: number; failures?: number; stalledCounter?: number },
  error?: Error,
) {
  const { encoded } = await encodedBody([aSpan()], own);
  const unlimited = Number.POSITIVE_INFINITY;
  const batcher = new SpanBatcher({
    ...{ rowsMax: 100, bytesMax: unlimited, entriesMax: 1, waitMsMax: 1, joinedRowsFew: 1 },
    slots: { stored: new WriteSlots(1), fewJoined: new WriteSlots(1), manyJoined: new WriteSlots(1) },
    ...{ patientRowsMin: 100, patientWaitMsMax: 1, togetherBytesMax: unlimited, togetherRowsMax: unlimited },
    write: async () => {
      if (error !== undefined) throw error;
      return new Map();
    },
  });
  const isolated: string[] = [];
  // Of the engines' clients just what is asked of them here; nothing may reach the database, where the quarantine is.
  const redis = {
    ...{ getBuffer: async () => Buffer.from('a body'), incr: async () => failures + 1, expire: async () => 1 },
  } as Partial<Redis> as Redis;
  const isolation = {
    getJobs: async () => [],
    add: async (_name: string, _payload: object, options: { jobId: string }) => isolated.push(options.jobId),
  };
  const postgres = (() => expect.unreachable('Nothing is for the quarantine here')) as unknown as Postgres;
  let storedSpans = 0;
  const deps: IngestOrIsolateDeps = {
    ...{ redis, postgres, batchers: { traces: batcher, logs: batcher }, isolation: isolation as unknown as Queue },
    logProjects: new LogProjects(redis),
    hold: createWorkLanes(),
    encoder: { encode: async () => encoded, close: async () => undefined },
    priceOverrides: new OverrideCache(async () => undefined),
    latency: createLatencyRecorder(),
    logger: createLogger({ level: 'silent', name: 'test' }),
    clock: { nowMs: () => Date.now() },
    countStored: (spans) => {
      storedSpans += spans;
    },
  };
  const id = randomUUID();
  const job = { id, attemptsMade, isRepeated: attemptsMade > 0, stalledCounter, isOurs: async () => true };
  const outcome = await ingestOrIsolate(deps, job, payload).catch((thrown: unknown) => thrown);
  return { outcome, storedSpans, isIsolated: isolated.includes(id) };
}

describe('a body that fails for a reason that nobody knows', () => {
  const unknown = new TypeError("Cannot read properties of undefined (reading 'x')");

  test.each([0, 3])('is tried again by the queue after %s failures before', async (failures) => {
    expect(await run({ attemptsMade: failures, failures }, unknown)).toEqual({
      outcome: unknown,
      storedSpans: 0,
      isIsolated: false,
    });
  });

  test('is to be tried alone after its fifth try', async () => {
    expect(await run({ attemptsMade: 4, failures: 4 }, unknown)).toEqual({
      outcome: 'isolated',
      storedSpans: 0,
      isIsolated: true,
    });
  });
});

test('the tries of a body during an outage do not count as failures', async () => {
  const unknown = new TypeError('x is not a function');
  expect(await run({ attemptsMade: 100, failures: 0 }, unknown)).toMatchObject({ outcome: unknown, isIsolated: false });
});

describe('a body that fails because an engine is away', () => {
  test.each([
    ['Redis', Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { code: 'ECONNREFUSED' })],
    ['Redis that is full', new Error("OOM command not allowed when used memory > 'maxmemory'.")],
    ['the database', new UnavailableError('postgres_unavailable', 'The database cannot be reached at the moment.')],
  ])('%s: is tried again by the queue, also after a hundred failures', async (_engine, away) => {
    expect(await run({ attemptsMade: 100 }, away)).toEqual({ outcome: away, storedSpans: 0, isIsolated: false });
  });
});

describe('bodies that are to be tried alone', () => {
  test('each come after those of their workspace that wait, which are counted once for all of them', async () => {
    let counted = 0;
    const priorities: number[] = [];
    const isolation = {
      async getJobs() {
        counted++;
        return [{ data: { workspaceId: own.workspaceId } }, { data: { workspaceId: 'wsp_other' } }];
      },
      add: async (_name: string, _payload: object, { priority }: { priority: number }) => priorities.push(priority),
    };
    const deps = { isolation: isolation as unknown as Queue } as IngestOrIsolateDeps;
    for (let nth = 0; nth < 100; nth++) {
      const job = { id: String(nth), attemptsMade: 0, isRepeated: true, stalledCounter: 2, isOurs: async () => true };
      expect(await ingestOrIsolate(deps, job, payload)).toBe('isolated');
    }
    expect(counted).toBe(1);
    expect(priorities).toEqual(Array.from({ length: 100 }, (_, nth) => nth + 2));
  });
});

describe('a body that nothing is wrong with', () => {
  test('is stored, however often it has failed before', async () => {
    expect(await run({ attemptsMade: 100 })).toEqual({ outcome: 'stored', storedSpans: 1, isIsolated: false });
  });

  test('is to be tried alone once two workers have died with it under way', async () => {
    expect(await run({ attemptsMade: 0, stalledCounter: 1 })).toMatchObject({ outcome: 'stored' });
    expect(await run({ attemptsMade: 0, stalledCounter: 2 })).toMatchObject({ outcome: 'isolated', isIsolated: true });
  });
});
