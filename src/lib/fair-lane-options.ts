export interface FairLaneOptions {
  /** What the lane runs, for messages: "renders", "reads of executions". */
  name: string;
  /** Maximum total cost of the work that runs at the same time. */
  capacity: number;
  /**
   * Maximum total cost of the work of one key that runs at the same time. Work that costs more counts as
   * this much.
   */
  perKey: number;
  /**
   * Like `perKey`, for waiting work while several keys use the lane. A key with little work then
   * waits less for the resource behind the lane.
   */
  perBusyKey?: number;
  /**
   * Maximum pieces of work of one key that wait. With 0 no work waits for a place, whichever key
   * holds it.
   */
  waitingPerKey: number;
  /** Maximum pieces of work that wait, all keys together. */
  waitingMax: number;
  /**
   * Work that has not begun after this time is refused as if the lane had been full. Without it,
   * work waits until its turn.
   */
  waitMsMax?: number;
  /**
   * Returns why work cannot finish now, such as an unavailable ClickHouse. Refused callers then get
   * this error.
   */
  whyStuck?: () => Error | undefined;
}

/**
 * Longest wait in a lane for work of an HTTP request. A request passes at most four lanes, so it is
 * answered before its connection is closed after 60 s of silence (see server.ts).
 */
export const requestWaitMsMax = 10_000;

/**
 * The caller that waits for the work. `signal` is read only when the work has to wait, so it may be
 * a getter that creates the signal.
 */
export interface Waiter {
  /** Aborted when the caller no longer waits: the work then leaves the lane without running. */
  readonly signal: AbortSignal;
}

export interface EnterOptions {
  /** In the unit of `capacity`; 1 by default. */
  cost?: number;
  waiter?: Waiter | undefined;
}
