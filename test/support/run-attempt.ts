import { type RunOptimizationDeps, runOptimization } from '../../src/domains/optimization/run-optimization.ts';
import { partKind } from '../../src/domains/parts/index.ts';
import { overrideCacheOf, PriceTable } from '../../src/domains/pricing/index.ts';
import { promptKind } from '../../src/domains/prompts/index.ts';
import { createPartSource } from '../../src/domains/rendering/index.ts';
import { TemplateThreads } from '../../src/domains/templates/index.ts';
import { ItemCache } from '../../src/domains/versioned/index.ts';
import type { ProjectId } from '../../src/lib/ids.ts';
import type { Invalidations } from '../../src/stores/postgres/invalidations.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import type { TestApi } from './api.ts';

type Told = Pick<Invalidations, 'connected' | 'publish' | 'subscribe' | 'onGap'>;

/** As a worker, which is not told of changes. */
export const untold: Told = {
  connected: false,
  publish: async () => undefined,
  subscribe: () => undefined,
  onGap: () => undefined,
};

/** What only calls of models need. A search of a test makes none. */
const unused = () => {
  throw new Error('A call was made');
};

/**
 * Runs one attempt of a run as a worker does, with a search that the test gives instead of the algorithms. It may read and
 * render, and makes no calls of models.
 */
export async function runAttempt(
  { postgres }: TestApi,
  run: { projectId: string; runId: string },
  search: RunOptimizationDeps['search'],
  invalidations = untold,
): Promise<void> {
  const threads = new TemplateThreads({ isBackground: true });
  const parts = new ItemCache({ kind: partKind, postgres, invalidations });
  const deps: RunOptimizationDeps = {
    ...{ postgres, search, send: unused, calls: {} as never, guard: {} as never },
    source: createPartSource({ parts, threads }),
    prompts: new ItemCache({ kind: promptKind, postgres, invalidations }),
    prices: { table: new PriceTable(), overrides: overrideCacheOf(postgres) },
    logger: createLogger({ level: 'silent', name: 'test' }),
    stopping: new AbortController().signal,
    applyWinner: async () => undefined,
  };
  await runOptimization(deps, { ...run, projectId: run.projectId as ProjectId }).finally(() => threads.close());
}
