import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { PromptFinder } from '../prompt-links/index.ts';

/** Dependencies of a read of one trace, in the main thread or in a worker thread. */
export interface TraceReadDeps {
  clickhouse: ClickHouse;
  knownPrompts: PromptFinder;
  cursorSecret: string;
  /**
   * Whether large data may be read in this thread. If not, a large trace throws LargeTraceError and
   * a large span part LargePartError.
   */
  large: boolean;
}
