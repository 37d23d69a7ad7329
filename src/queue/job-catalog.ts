import { z } from 'zod';
import { applyIdentityEventPayload } from './identity-event.ts';

/** A received OTLP body that waits in Redis under `bodyKey`. Ids of the project and plan facts are those of the key at receipt. */
export const ingestBodyPayload = z.strictObject({
  v: z.literal(1),
  projectId: z.string(),
  /** Whose share of queues and workers the body uses; '' in a job of an older version. */
  workspaceId: z.string().default(''),
  retentionDays: z.number().int().min(0),
  encoding: z.enum(['protobuf', 'json']),
  coding: z.enum(['identity', 'gzip', 'deflate', 'zstd']),
  /** Size after inflating, which is what working on it costs. */
  inflatedBytes: z.number().int(),
  spans: z.number().int(),
  receivedAtMs: z.number().int(),
});

export type IngestBodyPayload = z.infer<typeof ingestBodyPayload>;

/** What became of a body, the return value of its job. An `isolated` one is still under way, in a process of its own. */
export const ingestOutcome = z.enum(['stored', 'quarantined', 'isolated']);

export type IngestOutcome = z.infer<typeof ingestOutcome>;

/** What happened to a finished body is remembered so long: a resend within it is the same delivery. */
export const finishedKeptS = 600;

/** A finished job is made small by `dropBody`, which then forgets it in time; the count bounds those that a crash left whole. */
const ingestJob = {
  payload: ingestBodyPayload,
  attempts: 1_000_000,
  removeOnComplete: { age: finishedKeptS, count: 20_000 },
} as const;

/**
 * Every queue and its job. Ingest jobs are tried until their rows are stored or their body is in the quarantine, so none ends
 * as failed; identity events end so when they cannot be applied. `concurrency` is of one worker process; a job with `everyMs` comes again and again. `removeOnComplete` is how long a finished id is remembered: a resend within it is the same delivery.
 */
export const jobCatalog = {
  ingestBody: {
    queue: 'ingest',
    /** Bodies that one worker has under way; one half of them fills a batch while the other half is written. */
    concurrency: 500,
    ...ingestJob,
  },
  ingestLargeBody: {
    queue: 'ingest-large',
    /** Their memory is held one after the other mostly, so more would only wait. */
    concurrency: 4,
    ...ingestJob,
  },
  isolateBody: {
    queue: 'ingest-isolation',
    concurrency: 1,
    payload: ingestBodyPayload,
    attempts: 1_000_000,
    removeOnComplete: true,
  },
  sweepBodies: {
    queue: 'maintenance',
    concurrency: 1,
    everyMs: 60_000,
    payload: z.strictObject({}),
    attempts: 3,
    removeOnComplete: true,
  },
  applyIdentityEvent: {
    queue: 'identity',
    concurrency: 2,
    payload: applyIdentityEventPayload,
    attempts: 1_000_000,
    removeOnComplete: { age: 600, count: 20_000 },
  },
  pruneIdentityEvents: {
    queue: 'identity-pruning',
    concurrency: 1,
    everyMs: 60 * 60_000,
    payload: z.strictObject({}),
    attempts: 3,
    removeOnComplete: true,
  },
  pruneChanges: {
    queue: 'change-pruning',
    concurrency: 1,
    everyMs: 60_000,
    payload: z.strictObject({}),
    attempts: 3,
    removeOnComplete: true,
  },
  mergeDataParts: {
    queue: 'merging',
    concurrency: 1,
    everyMs: 15_000,
    payload: z.strictObject({}),
    attempts: 1,
    removeOnComplete: true,
  },
  reconcileSummaries: {
    queue: 'summaries',
    concurrency: 1,
    everyMs: 60_000,
    payload: z.strictObject({}),
    attempts: 1,
    removeOnComplete: true,
  },
  settleUsage: {
    queue: 'usage',
    concurrency: 1,
    everyMs: 60_000,
    payload: z.strictObject({}),
    attempts: 3,
    removeOnComplete: true,
  },
} as const;

export type JobName = keyof typeof jobCatalog;

const backoffFirstMs = 250;
const backoffMaxMs = 30_000;

/** Doubling from 250 ms to 30 s, each between half and the whole of it, so that jobs that failed together spread out. */
export function backoffMs(attemptsMade: number): number {
  const fullMs = Math.min(backoffFirstMs * 2 ** (attemptsMade - 1), backoffMaxMs);
  return Math.round(fullMs * (0.5 + Math.random() / 2));
}
