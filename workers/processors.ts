import type { z } from 'zod';
import type { JobName, jobCatalog } from '../src/queue/job-catalog.ts';
import { type ApplyOrGiveUpDeps, applyOrGiveUp } from './identity/apply-or-give-up.ts';
import { pruneIdentityEvents } from './identity/prune-identity-events.ts';
import { type IngestOrIsolateDeps, ingestOrIsolate } from './ingestion/ingest-or-isolate.ts';
import { type IsolateBodyDeps, isolateBody } from './ingestion/isolate-body.ts';
import { type MergePartsDeps, mergeParts } from './maintenance/merge-parts.ts';
import { pruneChanges } from './maintenance/prune-changes.ts';
import { type ReconcileSummariesDeps, reconcileSummaries } from './maintenance/reconcile-summaries.ts';
import { type SettleUsageDeps, settleMonthlyUsage } from './maintenance/settle-usage.ts';
import { type SweepBodiesDeps, sweepBodies } from './maintenance/sweep-bodies.ts';

/** What a processor is told of its job beside the payload. */
export interface JobFacts {
  id: string;
  attemptsMade: number;
  /** How many workers died or hung with this job under way. */
  stalledCounter: number;
  /** Whether this worker still holds the job; another may have taken and ended it while this one was paused. */
  isOurs: () => Promise<boolean>;
}

export type ProcessorDeps = IngestOrIsolateDeps &
  IsolateBodyDeps &
  SweepBodiesDeps &
  SettleUsageDeps &
  MergePartsDeps &
  ReconcileSummariesDeps &
  ApplyOrGiveUpDeps;

type Processors = {
  [Name in JobName]: (
    deps: ProcessorDeps,
    job: JobFacts,
    payload: z.output<(typeof jobCatalog)[Name]['payload']>,
  ) => Promise<unknown>;
};

/** Every job of the catalog and what does it. */
export const processors = {
  ingestBody: (deps, job, payload) => ingestOrIsolate(deps, job, payload),
  ingestLargeBody: (deps, job, payload) => ingestOrIsolate(deps, job, payload),
  isolateBody: (deps, job, payload) => isolateBody(deps, job.id, payload),
  sweepBodies: (deps) => sweepBodies(deps),
  applyIdentityEvent: (deps, job, event) => applyOrGiveUp(deps, job, event),
  pruneIdentityEvents: (deps) => pruneIdentityEvents(deps),
  pruneChanges: (deps) => pruneChanges(deps),
  mergeParts: (deps) => mergeParts(deps, { restS: 10 }),
  reconcileSummaries: (deps) => reconcileSummaries(deps, { nowMs: deps.clock.nowMs() }),
  settleUsage: (deps) => settleMonthlyUsage(deps, { nowMs: deps.clock.nowMs() }),
} satisfies Processors;
