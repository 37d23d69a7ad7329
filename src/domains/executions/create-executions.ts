import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { findKnownPrompts, KnownPrompts } from '../prompt-links/index.ts';
import type { ListExecutionsDeps } from './list-executions-page.ts';
import { ReadLanes } from './read-lanes.ts';
import type { ReadTraceDeps } from './read-trace.ts';
import { TraceThreads } from './trace-threads.ts';

export type Executions = ListExecutionsDeps & ReadTraceDeps & { close(): Promise<void> };

/** What reads of executions share, made once in a process. */
export function createExecutions(deps: {
  clickhouse: ClickHouse;
  /** The threads for large traces connect on their own. */
  clickhouseUrl: string;
  postgres: Postgres;
  cursorSecret: string;
  /** Why reads cannot go on at the moment, if they cannot. */
  whyStuck: () => Error | undefined;
  logger: Logger;
}): Executions {
  const { clickhouse, clickhouseUrl, postgres, cursorSecret, whyStuck, logger } = deps;
  const knownPrompts = new KnownPrompts({
    find: (projectId, wanted) => findKnownPrompts(postgres, projectId, wanted),
    // A reader sees a prompt as soon as it is there.
    unknownMs: 0,
    logger,
  });
  const threads = new TraceThreads({ clickhouseUrl, cursorSecret, knownPrompts });
  const lanes = new ReadLanes(whyStuck);
  return { clickhouse, postgres, knownPrompts, cursorSecret, threads, lanes, close: () => threads.close() };
}
