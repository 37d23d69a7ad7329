/** One statement for a session thread. */
export interface Job {
  /** Statements that prepare the connection of the statement; see prelude.ts. */
  prelude: readonly string[];
  query: string;
  /** Format of the result if the statement has no FORMAT. */
  format: string;
  /** Whether the result may arrive in chunks. A statement that cannot stream still runs in one call. */
  streamable: boolean;
}

/** Figures of the engine for a successful statement. For an INSERT: the rows and bytes that it read and wrote. */
export interface Outcome {
  rowsRead: number;
  bytesRead: number;
}

/** `next` requests one more chunk. `stop` means that the client has disconnected. */
export type ToSession = { type: 'run'; job: Job } | { type: 'next' } | { type: 'stop' };

/** `chunk` is a part of the result. The last part arrives with `done`. */
export type FromSession =
  | { type: 'ready' }
  | { type: 'chunk'; bytes: Uint8Array }
  | { type: 'done'; outcome: Outcome; bytes: Uint8Array }
  | { type: 'error'; message: string };

/** Variable with the password, so that it is not visible in a list of processes. */
export const PASSWORD_VARIABLE = 'PROMPTLANE_CLICKHOUSE_PASSWORD';
