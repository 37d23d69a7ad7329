import type { OptimizationJobs, OptimizationJobsDeps } from './create-jobs.ts';

/**
 * Loads and creates what runs need: the search, the client of models, and the engine that renders.
 * Called when the first run starts, because most workers never run one.
 */
export async function loadOptimizationJobs(deps: OptimizationJobsDeps): Promise<OptimizationJobs> {
  const { createOptimizationJobs } = await import('./create-jobs.ts');
  return createOptimizationJobs(deps);
}
