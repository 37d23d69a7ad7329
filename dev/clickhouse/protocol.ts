/** One statement for a session thread. */
export interface Job {
  /** Statements that prepare the statement's own connection: see prelude.ts. */
  prelude: readonly string[];
  query: string;
  /** The format of a result that names none itself. */
  format: string;
  /** Whether the result may come in pieces; a statement that cannot stream runs in one call all the same. */
  streamable: boolean;
}

/** What the engine says about a statement that ended well. For an INSERT: what it read and so wrote. */
export interface Outcome {
  rowsRead: number;
  bytesRead: number;
}

/** `next` grants one more chunk, `stop` says that nobody reads any more. */
export type ToSession = { type: 'run'; job: Job } | { type: 'next' } | { type: 'stop' };

/** `chunk` is a piece of the result before its last, which comes with `done`. */
export type FromSession =
  | { type: 'ready' }
  | { type: 'chunk'; bytes: Uint8Array }
  | { type: 'done'; outcome: Outcome; bytes: Uint8Array }
  | { type: 'error'; message: string };

/** By which the process is told the password, so that no list of processes shows it. */
export const PASSWORD_VARIABLE = 'PROMPTLANE_CLICKHOUSE_PASSWORD';
