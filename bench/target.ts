import type { LoadTarget } from './load/protocol.ts';

/** What is measured: an instance, how to look past its API, and its processes by name where they are known. */
export interface Target extends LoadTarget {
  clickhouseUrl: string;
  /** Known of an instance of our own only. */
  adminKey?: string;
  pids: Readonly<Record<string, number>>;
  versions: Readonly<Record<string, string>>;
}
