import type { Config } from '../../../config.ts';
import { otlpLimits } from '../../../otlp/limits.ts';
import type { Signal } from '../../../otlp/signal.ts';
import { jobCatalog, workspaceShare } from '../../../queue/job-catalog.ts';
import { LogProjects } from '../../../queue/log-projects.ts';
import { type ClickHouse, fewJoined } from '../../../stores/clickhouse/client.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import type { Redis } from '../../../stores/redis/client.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { loadLogRecords } from '../../log-records/index.ts';
import { overrideCacheOf, PriceTable } from '../../pricing/index.ts';
import { findKnownPrompts, KnownPrompts } from '../../prompt-links/index.ts';
import { insertSpans } from '../../spans/index.ts';
import { createBodyEncoder } from './body-encoder.ts';
import { createRecordFinder } from './create-record-finder.ts';
import type { IngestBodyDeps } from './ingest-body.ts';
import { SpanBatcher } from './span-batcher.ts';
import { type BatchKind, storeBatch } from './store-batch.ts';
import { type SummarizeBatchDeps, summarizeBatch } from './summarize-batch.ts';
import { createWorkLanes } from './work-lanes.ts';
import { WriteSlots } from './write-slots.ts';

const batchLimits = {
  rowsMax: 20_000,
  bytesMax: 32 * 1024 * 1024,
  // One half of the bodies that a workspace has in progress fills a batch while the other half is written.
  entriesMax: Math.floor((jobCatalog.ingestBody.concurrency * workspaceShare) / 2),
  // ClickHouse takes some 30 ms for as much as this (0.8 s for 100 MiB, on two cores).
  togetherBytesMax: 4 * 1024 * 1024,
  // Of a trace each: some 0.2 s with their summaries.
  togetherRowsMax: 2_000,
  patientRowsMin: 1_200,
  patientWaitMsMax: 600,
  // What takes several times as long for each row: a batch of so many takes some 0.1 s.
  joinedRowsFew: fewJoined.rows,
};
const batchWaitMs = 200;
/** A name that no prompt has is looked up again after this, however many spans carry it. */
const unknownPromptMs = 2_000;

export interface Storing extends IngestBodyDeps {
  close(): Promise<void>;
}

/**
 * Creates the shared parts that convert bodies to stored spans, once per process. A batch is written
 * at most `waitMsMax` after it began.
 */
export function createStoring(
  deps: {
    config: Pick<Config, 'clickhouseUrl' | 'otlpBodyBytesMax' | 'otlpInflatedBytesMax' | 'otlpLogsOther'>;
    postgres: Postgres;
    clickhouse: ClickHouse;
    redis: Redis;
    logger: Logger;
    /** Aborted when the worker must stop. */
    stopping: AbortSignal;
  },
  waitMsMax = batchWaitMs,
): Storing {
  const { config, postgres, clickhouse, redis, logger, stopping } = deps;
  const logProjects = new LogProjects(redis);
  const finishing = { clickhouse, redis, logProjects, logger };
  // Joining keeps ClickHouse busy, so those who send much have one write of both signals.
  const manyJoined = new WriteSlots(1);
  const batcherOf = (kind: BatchKind) =>
    new SpanBatcher({
      ...batchLimits,
      waitMsMax,
      // One for those who send much, one for the others meanwhile.
      slots: { stored: new WriteSlots(2), fewJoined: new WriteSlots(1), manyJoined },
      write: (entries) => storeBatch({ clickhouse, logger, stopping, kind }, entries),
    });
  const kinds = batchKinds(finishing);
  const batchers = { traces: batcherOf(kinds.traces), logs: batcherOf(kinds.logs) };
  const prompts = new KnownPrompts({
    find: (projectId, wanted) => findKnownPrompts(postgres, projectId, wanted),
    unknownMs: unknownPromptMs,
    askedMax: 200,
    logger,
  });
  const encoder = createBodyEncoder({
    // Bodies that were accepted are read, whatever their keys.
    limits: { ...otlpLimits(config), longKeysMax: Number.POSITIVE_INFINITY },
    prompts,
    records: createRecordFinder(finishing),
    clickhouseUrl: config.clickhouseUrl,
    priceTable: new PriceTable(),
    keepOtherLogs: config.otlpLogsOther === 'keep',
  });
  return {
    redis,
    logProjects,
    batchers,
    encoder,
    hold: createWorkLanes(),
    priceOverrides: overrideCacheOf(postgres),
    close: () => encoder.close(),
  };
}

/** Returns how the rows of each signal are stored, and what is done afterwards. */
export function batchKinds(deps: SummarizeBatchDeps): Readonly<Record<Signal, BatchKind>> {
  return {
    traces: { insert: insertSpans, finish: (entries) => summarizeBatch(deps, entries) },
    logs: {
      insert: async (...given) => (await loadLogRecords()).insertLogs(...given),
      finish: async (entries) => (await import('./join-batch.ts')).joinBatch(deps, entries),
    },
  };
}
