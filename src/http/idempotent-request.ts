import type { Headers } from './endpoint.ts';

/**
 * A request that must take effect only once. The digest detects a different request with the same
 * key.
 */
export interface IdempotentRequest {
  /** Project or workspace, with the user if there is one. Keys of different tenants are independent. */
  tenant: string;
  operationId: string;
  key: string;
  /** 32 bytes. */
  digest: Buffer;
}

export interface StoredAnswer {
  status: number;
  headers: Headers;
  contentType?: string;
  /** Absent when the response had no content; null when it was too large to store. */
  content?: Buffer | null;
}

/** What `begin` finds for a key, on its first use or a later one. */
export type Begun =
  /** `isAgain`: the request was postponed before. The lease is then the earlier one. */
  | { outcome: 'begun'; lease: string; isAgain: boolean }
  | { outcome: 'answered'; answer: StoredAnswer }
  | { outcome: 'unfinished'; ageMs: number }
  /** The request took effect, and its response was lost. */
  | { outcome: 'lost'; ageMs: number }
  | { outcome: 'reused' };

/**
 * Stores responses. `begin` is exact over all processes: of any number of equal requests one gets
 * `begun`, until its lease is finished, postponed, settled, abandoned, or 24 h old. The same request can
 * begin again after `postpone`, with the same lease.
 */
export interface IdempotencyStore {
  /** @throws OutcomeUnknownError when the connection was lost during the commit; see `unbegin` */
  begin(request: IdempotentRequest): Promise<Begun>;
  /**
   * Lets the same request begin if the transaction of a `begin` that threw was committed all the same.
   * @throws UnavailableError while that is not known
   */
  unbegin(request: IdempotentRequest, transactionId: string): Promise<void>;
  finish(request: IdempotentRequest, lease: string, answer: StoredAnswer): Promise<void>;
  /** Marks the outcome as unknown. The same request may run again. */
  postpone(request: IdempotentRequest, lease: string): Promise<void>;
  /**
   * Asks Postgres what became of the transaction with the effect. If it was committed, the request must not run again;
   * otherwise the same request may.
   * @throws UnavailableError while that is not known
   */
  settle(request: IdempotentRequest, lease: string, transactionId: string | undefined): Promise<void>;
  /** Forgets the key, because the request had no effect. */
  abandon(request: IdempotentRequest, lease: string): Promise<void>;
}
