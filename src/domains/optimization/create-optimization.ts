import type { Config } from '../../config.ts';
import { connectOptimizationQueue } from '../../queue/optimization-queue.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { BudgetGuard } from '../budgets/index.ts';
import type { OverrideCache, PriceTable } from '../pricing/index.ts';
import { type PromptContent, promptCollection } from '../prompts/index.ts';
import type { Limiter } from '../quotas/index.ts';
import type { PartSource } from '../rendering/index.ts';
import type { ChangeHook, ItemCache } from '../versioned/index.ts';
import { createDiffs } from './read-run.ts';
import { enqueueQueuedRuns } from './resume-runs.ts';
import { createRowsLane } from './rows-from-executions.ts';
import { RunFeed } from './run-feed.ts';

export interface OptimizationSources {
  postgres: Postgres;
  clickhouse: ClickHouse;
  redis: Redis;
  invalidations: Pick<Invalidations, 'publish'>;
  logger: Logger;
  limiter: Limiter;
  budgets: BudgetGuard;
  prompts: ItemCache<PromptContent>;
  source: PartSource;
  prices: { table: PriceTable; overrides: OverrideCache };
  models: Config['llm'];
  cursorSecret: string;
  /** Runs in the transaction of every change of a prompt. */
  changed: ChangeHook;
  /** Why reads of ClickHouse cannot finish now. */
  whyStuck: () => Error | undefined;
}

/** Creates what the endpoints of optimization share. Called once per process. */
export function createOptimization({ redis, invalidations, changed, whyStuck, ...sources }: OptimizationSources) {
  const { postgres, logger, source } = sources;
  const { threads } = source;
  const queue = connectOptimizationQueue(redis);
  const feed = new RunFeed({ postgres, logger });
  return {
    ...sources,
    threads,
    feed,
    queue: queue.queue,
    rowsLane: createRowsLane(whyStuck),
    diffs: createDiffs(),
    collection: promptCollection({ postgres, invalidations, threads, changed }),
    enqueueRuns: () => enqueueQueuedRuns({ postgres, enqueueRuns: (runs) => queue.add(runs) }),
    close: () => queue.queue.close(),
  };
}
