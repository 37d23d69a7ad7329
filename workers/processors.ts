import type { z } from 'zod';
import { type CheckBudgetsDeps, checkBudgets } from '../src/domains/budgets/jobs.ts';
import { recordEvent } from '../src/domains/events/index.ts';
import type { ApplyOrGiveUpDeps } from '../src/domains/identity/jobs.ts';
import {
  type IngestOrIsolateDeps,
  ingestOrIsolate,
  pruneQuarantine,
  type SweepBodiesDeps,
  sweepBodies,
} from '../src/domains/ingestion/jobs.ts';
import { type OptimizationJobs, pruneRuns, type ResumeRunsDeps, resumeRuns } from '../src/domains/optimization/jobs.ts';
import { type SettleUsageDeps, settleMonthlyUsage } from '../src/domains/quotas/jobs.ts';
import { boundMerges, type MergeDataPartsDeps, mergeDataParts } from '../src/domains/spans/jobs.ts';
import { type ReconcileSummariesDeps, reconcileSummaries } from '../src/domains/summaries/jobs.ts';
import { pruneEvents, pruneWebhooks } from '../src/domains/webhooks/jobs.ts';
import type { JobName, jobCatalog } from '../src/queue/job-catalog.ts';
import type { JobFacts } from '../src/queue/job-facts.ts';
import { pruneChanges } from '../src/stores/postgres/change-reader.ts';
import { type IsolateBodyDeps, isolateBody } from './isolation/isolate-body.ts';

export type ProcessorDeps = IngestOrIsolateDeps &
  IsolateBodyDeps &
  SweepBodiesDeps &
  CheckBudgetsDeps &
  Omit<SettleUsageDeps, 'quotaReached'> &
  MergeDataPartsDeps &
  ReconcileSummariesDeps &
  ResumeRunsDeps &
  ApplyOrGiveUpDeps & {
    /** Loads the jobs of optimization runs, once. */
    optimization: () => Promise<OptimizationJobs>;
  };

type Processors = {
  [Name in JobName]: (
    deps: ProcessorDeps,
    job: JobFacts,
    payload: z.output<(typeof jobCatalog)[Name]['payload']>,
  ) => Promise<unknown>;
};

/** Maps every job of the catalog to its processor. */
export const processors = {
  ingestBody: (deps, job, payload) => ingestOrIsolate(deps, job, payload),
  ingestLargeBody: (deps, job, payload) => ingestOrIsolate(deps, job, payload),
  isolateBody: (deps, job, payload) => isolateBody(deps, job, payload),
  sweepBodies: (deps) => sweepBodies(deps),
  applyIdentityEvent: async (deps, job, event) => (await identityJobs()).applyOrGiveUp(deps, job, event),
  pruneIdentityEvents: async (deps) => (await identityJobs()).pruneIdentityEvents(deps),
  pruneEvents: async (deps) => {
    try {
      await pruneEvents(deps);
    } finally {
      await pruneWebhooks(deps).finally(() => pruneRuns(deps));
    }
  },
  pruneQuarantine: (deps) => pruneQuarantine(deps),
  pruneChanges: (deps) => pruneChanges(deps.postgres),
  mergeDataParts: (deps) => mergeDataParts(deps, { restS: 10 }),
  boundMerges: (deps) => boundMerges(deps),
  reconcileSummaries: (deps) => reconcileSummaries(deps, { nowMs: deps.clock.nowMs() }),
  checkBudgets: (deps) => checkBudgets(deps, { nowMs: deps.clock.nowMs() }),
  runOptimization: async (deps, _job, payload) => (await deps.optimization()).run(payload),
  resumeRuns: (deps) => resumeRuns(deps),
  settleUsage: (deps) => settleMonthlyUsage({ ...deps, quotaReached }, { nowMs: deps.clock.nowMs() }),
} satisfies Processors;

/** Loaded by the first job that needs it: events of identity providers are rare. */
const identityJobs = () => import('../src/domains/identity/jobs.ts');

/** Events come after quotas in the order of the domains, so their function is passed on here. */
export const quotaReached: SettleUsageDeps['quotaReached'] = (transaction, data) =>
  recordEvent(transaction, { workspaceId: data.workspace_id, projectId: null, type: 'quota.threshold_reached', data });
