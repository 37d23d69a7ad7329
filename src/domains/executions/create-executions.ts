import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { findKnownPrompts, KnownPrompts, wantedMax } from '../prompt-links/index.ts';
import type { FeedbackOfExecutions } from './feedback-of-executions.ts';
import { createMentionReads } from './filters/mention-reads.ts';
import { createLatestMoment } from './latest-moment.ts';
import type { ListExecutionsDeps } from './list-executions-page.ts';
import { ReadLanes } from './read-lanes.ts';
import type { ReadTraceDeps } from './read-trace.ts';
import { TraceThreads } from './trace-threads.ts';

export type Executions = ListExecutionsDeps & ReadTraceDeps & { close(): Promise<void> };

/** Creates what all reads of executions share. Called once in a process. */
export function createExecutions(deps: {
  clickhouse: ClickHouse;
  /** Used by the worker threads for large traces, which open their own connections. */
  clickhouseUrl: string;
  postgres: Postgres;
  feedback: FeedbackOfExecutions;
  cursorSecret: string;
  /** Returns why reads cannot continue at the moment, or undefined when they can. */
  whyStuck: () => Error | undefined;
  /** The same for reads of Postgres. */
  whyRecordsStuck: () => Error | undefined;
  logger: Logger;
}): Executions {
  const { clickhouse, clickhouseUrl, postgres, feedback, cursorSecret, whyStuck, whyRecordsStuck, logger } = deps;
  const knownPrompts = new KnownPrompts({
    find: (projectId, wanted) => findKnownPrompts(postgres, projectId, wanted),
    // A prompt must be visible to readers as soon as it exists, so unknown names are not cached.
    unknownMs: 0,
    askedMax: wantedMax,
    logger,
  });
  const threads = new TraceThreads({ clickhouseUrl, cursorSecret, knownPrompts });
  const lanes = new ReadLanes(whyStuck);
  const findMentions = createMentionReads(postgres, whyRecordsStuck);
  return {
    ...{ findMentions, clickhouse, postgres, feedback, knownPrompts, cursorSecret, threads, lanes },
    latestMoment: createLatestMoment(clickhouse),
    close: () => threads.close(),
  };
}
