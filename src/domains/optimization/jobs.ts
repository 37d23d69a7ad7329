export { createOptimizationJobs, type OptimizationJobs } from './create-jobs.ts';
