import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { PromptFinder } from '../prompt-links/index.ts';

/** What a read of one trace needs, in the API's own thread or in one beside it. */
export interface TraceReadDeps {
  clickhouse: ClickHouse;
  knownPrompts: PromptFinder;
  cursorSecret: string;
  /** Whether what is large may be read here; where it may not, a large trace is LargeTraceError and a large part LargePartError. */
  large: boolean;
}
