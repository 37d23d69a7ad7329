import { recordPromptEvents } from '../src/api/prompt-events.ts';
import { createOptimizationJobs, type OptimizationJobs } from '../src/domains/optimization/jobs.ts';
import { search, send } from '../src/domains/optimization/stand-ins.ts';
import type { WorkerClients } from './clients.ts';

/** Loaded when the first job of the queue starts, because most workers never run one. */
export function startOptimization({ config, redis, logger, stopping }: WorkerClients): OptimizationJobs {
  const { databaseUrl } = config;
  return createOptimizationJobs({ databaseUrl, redis, logger, stopping, search, send, changed: recordPromptEvents });
}
