import type { Config } from '../src/config.ts';
import {
  createBodyEncoder,
  createWorkLanes,
  type IngestBodyDeps,
  SpanBatcher,
  storeBatch,
} from '../src/domains/ingestion/index.ts';
import { overrideCacheOf, PriceTable } from '../src/domains/pricing/index.ts';
import { findKnownPrompts, KnownPrompts } from '../src/domains/prompt-links/index.ts';
import { UnavailableError } from '../src/lib/errors.ts';
import { otlpLimits } from '../src/otlp/limits.ts';
import { type ClickHouse, connectClickHouse } from '../src/stores/clickhouse/client.ts';
import { connectPostgres, type Postgres } from '../src/stores/postgres/client.ts';
import { connectWorkerRedis, type Redis } from '../src/stores/redis/client.ts';
import { createLogger, type Logger } from '../src/telemetry/logger.ts';

/**
 * Number of small bodies one worker has in progress. Half of them fill a batch while the other half
 * is written.
 */
export const ingestConcurrency = 500;
/**
 * Number of large bodies in progress. Mostly their memory is held one after the other, so more
 * would only wait.
 */
export const largeIngestConcurrency = 4;

const batchLimits = {
  rowsMax: 20_000,
  bytesMax: 32 * 1024 * 1024,
  entriesMax: ingestConcurrency / 2,
  // ClickHouse takes about 30 ms to store this much (0.8 s for 100 MiB, on two cores).
  togetherBytesMax: 4 * 1024 * 1024,
  // If each row belongs to another trace, they take about 0.2 s with their summaries.
  togetherRowsMax: 2_000,
  patientRowsMin: 1_200,
  patientWaitMsMax: 600,
  // One write for workspaces that send much, one for the others meanwhile.
  writesMax: 2,
};
const batchWaitMs = 200;
/**
 * An unreachable ClickHouse is noticed after this time. The locks of the jobs are renewed
 * meanwhile.
 */
const insertTimeoutMs = 15_000;
const slowTimeoutMs = 30 * 60_000;
/** An unknown prompt name is looked up again after this time, however many spans carry it. */
const unknownPromptMs = 2_000;

export interface Ingestion extends IngestBodyDeps {
  postgres: Postgres;
  clickhouse: ClickHouse;
  /** For queries that take minutes. */
  slowClickhouse: ClickHouse;
  /** Aborted by `stop`. */
  stopping: AbortSignal;
  redis: Redis;
  logger: Logger;
  defaultPlan: Config['defaultPlan'];
  /** Makes jobs stop waiting for an unavailable ClickHouse, so that they go back to the queue. */
  stop(): void;
  close(): Promise<void>;
}

/**
 * Creates everything a process needs to turn bodies into stored spans. A batch is written at the
 * latest `waitMsMax` after it began.
 */
export function createIngestion(config: Config, name: string, waitMsMax = batchWaitMs): Ingestion {
  const logger = createLogger({ level: config.logLevel, name });
  const postgres = connectPostgres(config.databaseUrl, 4);
  const clickhouse = connectClickHouse(config.clickhouseUrl, insertTimeoutMs);
  const slowClickhouse = connectClickHouse(config.clickhouseUrl, slowTimeoutMs);
  const redis = connectWorkerRedis(config.redisUrl);
  redis.on('error', (error: unknown) => logger.warn({ err: error }, 'redis connection'));
  const stopping = new AbortController();
  const batcher = new SpanBatcher({
    ...batchLimits,
    waitMsMax,
    write: (entries) => storeBatch({ clickhouse, redis, logger, stopping: stopping.signal }, entries),
  });
  const prompts = new KnownPrompts({
    find: (projectId, wanted) => findKnownPrompts(postgres, projectId, wanted),
    unknownMs: unknownPromptMs,
    logger,
  });
  const encoder = createBodyEncoder({
    limits: otlpLimits(config),
    prompts,
    priceTable: new PriceTable(),
  });
  return {
    postgres,
    clickhouse,
    slowClickhouse,
    stopping: stopping.signal,
    redis,
    logger,
    defaultPlan: config.defaultPlan,
    batcher,
    hold: createWorkLanes(),
    encoder,
    priceOverrides: overrideCacheOf(postgres),
    stop: () => stopping.abort(new UnavailableError('dependency_unavailable', 'The worker is stopping')),
    async close() {
      redis.disconnect();
      await Promise.all([encoder.close(), postgres.destroy(), clickhouse.close(), slowClickhouse.close()]);
    },
  };
}
