import type { Config } from '../../config.ts';
import { createLlm } from '../../llm/llm.ts';
import { createBodyPublisher } from '../../queue/body-publisher.ts';
import { DurabilityBarrier } from '../../queue/durability-barrier.ts';
import type { RedisClock } from '../../queue/redis-clock.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { connectPostgres } from '../../stores/postgres/client.ts';
import { connectRequestRedis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { BudgetGuard } from '../budgets/index.ts';
import { createQueueGate } from '../ingestion/index.ts';
import { partKind } from '../parts/index.ts';
import { overrideCacheOf, PriceTable } from '../pricing/index.ts';
import { optimize } from '../prompt-search/index.ts';
import { promptCollection, promptKind } from '../prompts/index.ts';
import { createPartSource } from '../rendering/index.ts';
import { TemplateThreads } from '../templates/index.ts';
import { type ChangeHook, ItemCache } from '../versioned/index.ts';
import { applyWinner } from './apply-winner.ts';
import type { Run } from './run.ts';
import { type RunOptimizationDeps, runOptimization } from './run-optimization.ts';
import { sendTo } from './send-call.ts';

/** Its own connections, so that runs and ingestion do not wait for each other. */
const connectionsMax = 6;

export interface OptimizationJobsDeps {
  config: Pick<Config, 'databaseUrl' | 'redisUrl' | 'llm' | 'ingestQueueBytesMax'>;
  clickhouse: ClickHouse;
  clock: RedisClock;
  logger: Logger;
  stopping: AbortSignal;
  /** Runs in the transaction of every change of a prompt. */
  changed: ChangeHook;
}

export interface OptimizationJobs {
  run(payload: { projectId: string; runId: string }): Promise<void>;
  close(): Promise<void>;
}

/** Items and budgets are read from the database, because a worker is not told of changes. */
const untold = { connected: false, publish: async () => undefined, subscribe: () => undefined, onGap: () => undefined };

/** Creates what the jobs of optimization runs need, once per process. */
export async function createOptimizationJobs(deps: OptimizationJobsDeps): Promise<OptimizationJobs> {
  const { config, clickhouse, clock, logger, stopping } = deps;
  const postgres = connectPostgres(config.databaseUrl, connectionsMax);
  // It fails fast, so that a run that waits for Redis can be cancelled.
  const redis = connectRequestRedis(config.redisUrl);
  redis.on('error', (error: unknown) => logger.warn({ err: error }, 'redis connection of optimization runs'));
  const publisher = createBodyPublisher(redis, { clock, barrier: new DurabilityBarrier(redis) });
  const gate = createQueueGate({ config, redis, clock, publisher, logger });
  await gate.start();
  const threads = new TemplateThreads({ isBackground: true });
  const prompts = new ItemCache({ kind: promptKind, postgres, invalidations: untold });
  const parts = new ItemCache({ kind: partKind, postgres, invalidations: untold });
  const collection = promptCollection({ postgres, invalidations: untold, threads, changed: deps.changed });
  const running: RunOptimizationDeps = {
    ...{ postgres, search: optimize, prompts, logger, stopping },
    send: sendTo(createLlm({ config: config.llm, redis })),
    calls: { publisher, clock, gate },
    source: createPartSource({ parts, threads }),
    prices: { table: new PriceTable(), overrides: overrideCacheOf(postgres) },
    guard: new BudgetGuard({ postgres, clickhouse, invalidations: untold, logger }),
    applyWinner: (input) => applyWinner({ postgres, collection, prompts }, input),
  };
  return {
    run: ({ projectId, runId }) => runOptimization(running, { projectId: projectId as Run['projectId'], runId }),
    async close() {
      gate.close();
      await publisher.close();
      redis.disconnect();
      await threads.close();
      await postgres.destroy();
    },
  };
}
