import { z } from 'zod';
import { applyIdentityEventPayload } from './identity-event.ts';

/**
 * A received OTLP body that waits in Redis under `bodyKey`. The project id and the plan values are
 * those of the API key at the time of receipt. Members of a later version are ignored.
 */
export const ingestBodyPayload = z.object({
  v: z.literal(1),
  projectId: z.string(),
  /**
   * The workspace whose share of queues and workers the body uses; '' in a job of an older version.
   */
  workspaceId: z.string().default(''),
  retentionDays: z.number().int().min(0),
  /** Absent for traces. */
  signal: z.literal('logs').optional(),
  encoding: z.enum(['protobuf', 'json']),
  coding: z.enum(['identity', 'gzip', 'deflate', 'zstd']),
  /** Size after inflating. */
  inflatedBytes: z.number().int(),
  /** Accepted spans, or log records. */
  spans: z.number().int(),
  /** Bytes of resources and scopes that the rows repeat; absent when none, and in a job of an older version. */
  repeatedBytes: z.number().int().optional(),
  receivedAtMs: z.number().int(),
  /** Whole seconds that the backlog of its own workspace delays it; absent in a job of an older version. */
  delayS: z.number().int().optional(),
});

export type IngestBodyPayload = z.infer<typeof ingestBodyPayload>;

/**
 * The outcome of a body, which is the return value of its job. An `isolated` body is still being
 * processed, in a separate process.
 */
export const ingestOutcome = z.enum(['stored', 'quarantined', 'isolated']);

export type IngestOutcome = z.infer<typeof ingestOutcome>;

/**
 * Seconds for which the outcome of a finished body is remembered. A resend within this time is the
 * same delivery.
 */
export const finishedKeptS = 600;

/**
 * The backlog of a workspace expires this long after its last stored body, in seconds: later than the
 * latest turn of a body, see LaneSchedule. The scripts that store and drop bodies update it
 * atomically; if a job is lost, its counts are wrong until then.
 */
export const backlogKeptS = 25 * 3_600;

/**
 * `dropBody` shrinks a finished job and lets it expire. The age and the count limit the jobs that a
 * crash left complete. The age is that of a backlog, because without the job `dropBody` does not know
 * what to subtract from it.
 */
const ingestJob = {
  payload: ingestBodyPayload,
  attempts: 1_000_000,
  removeOnComplete: { age: backlogKeptS, count: 20_000 },
} as const;

/** An optimization run in Postgres. A worker that gets its job first takes the lease of the run. */
export const runOptimizationPayload = z.strictObject({ projectId: z.string(), runId: z.string() });

/** One workspace has at most this share of the bodies that a worker has in progress, rounded down. */
export const workspaceShare = 0.9;

/**
 * Lists every queue and its job. An ingest job is retried until its rows are stored or its body is
 * quarantined, so it never fails. An identity event fails when it cannot be applied.
 * `concurrency` is the number of jobs that one worker process runs at the same time; of bodies, it takes a
 * tenth more (`workers/job-slots.ts`). `everyMs` is the interval
 * of a repeated job. `removeOnComplete` sets how long a finished id is remembered. A resend within this time is the
 * same delivery.
 */
export const jobCatalog = {
  ingestBody: {
    queue: 'ingest',
    concurrency: 500,
    ...ingestJob,
  },
  ingestLargeBody: {
    queue: 'ingest-large',
    /** Their memory is held one after the other mostly, so more would only wait. */
    concurrency: 5,
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
  pruneEvents: {
    queue: 'event-pruning',
    concurrency: 1,
    everyMs: 60 * 60_000,
    payload: z.strictObject({}),
    attempts: 3,
    removeOnComplete: true,
  },
  pruneQuarantine: {
    queue: 'quarantine-pruning',
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
  boundMerges: {
    queue: 'merge-bounds',
    concurrency: 1,
    everyMs: 5_000,
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
  checkBudgets: {
    queue: 'budgets',
    concurrency: 1,
    everyMs: 10_000,
    payload: z.strictObject({}),
    attempts: 1,
    removeOnComplete: true,
  },
  runOptimization: {
    queue: 'optimization',
    /**
     * All workspaces share the places of all workers, and mostly wait in them for responses. Postgres is
     * the queue: a workspace gets jobs for two of its runs at most, and the first of each workspace
     * comes before the second of any. So a workspace holds at most two places, however many runs wait.
     * The requests of runs share the endpoint by other limits, those of `src/llm/limits.ts`.
     */
    concurrency: 8,
    payload: runOptimizationPayload,
    attempts: 1_000_000,
    removeOnComplete: true,
  },
  resumeRuns: {
    queue: 'optimization-resumption',
    concurrency: 1,
    everyMs: 2_000,
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

/**
 * Options of the jobs that are retried without end. BullMQ would store the stacks of all their errors again with each
 * retry; only the last one is kept.
 */
export const retryOptions = { backoff: { type: 'custom' }, stackTraceLimit: 1 } as const;

const backoffFirstMs = 250;
const backoffMaxMs = 30_000;

/**
 * Returns the delay before the next attempt. It doubles from 250 ms up to 30 s. A random factor
 * between 0.5 and 1 spreads jobs that failed together.
 */
export function backoffMs(attemptsMade: number): number {
  const fullMs = Math.min(backoffFirstMs * 2 ** (attemptsMade - 1), backoffMaxMs);
  return Math.round(fullMs * (0.5 + Math.random() / 2));
}
