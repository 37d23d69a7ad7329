import type { LoadTarget } from './load/protocol.ts';

/** The measured instance, access to its ClickHouse, and its processes by name if they are known. */
export interface Target extends LoadTarget {
  clickhouseUrl: string;
  /** Set only for an instance that the bench started. */
  adminKey?: string;
  pids: Readonly<Record<string, number>>;
  versions: Readonly<Record<string, string>>;
}
