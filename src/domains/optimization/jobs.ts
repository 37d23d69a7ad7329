export type { OptimizationJobs } from './create-jobs.ts';
export { loadOptimizationJobs } from './load-jobs.ts';
export { pruneRuns } from './queue-store.ts';
export { type ResumeRunsDeps, resumeRuns } from './resume-runs.ts';
