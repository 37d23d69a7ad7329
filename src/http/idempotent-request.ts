import type { Headers } from './endpoint.ts';

/**
 * A request that must take effect only once. The digest detects a different request with the same
 * key.
 */
export interface IdempotentRequest {
  /** Project or workspace. Keys of different tenants are independent. */
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
  /** The lease is the earlier one when the request was postponed before. */
  | { outcome: 'begun'; lease: string }
  | { outcome: 'answered'; answer: StoredAnswer }
  | { outcome: 'unfinished'; ageMs: number }
  /** It is unknown whether the request took effect, and it will stay unknown. */
  | { outcome: 'lost'; ageMs: number }
  | { outcome: 'reused' };

/**
 * Stores responses. `begin` is exact over all processes: of any number of equal requests one gets
 * `begun`, until its lease is finished, postponed, abandoned, or 24 h old. The same request can
 * begin again after `postpone`, with the same lease.
 */
export interface IdempotencyStore {
  begin(request: IdempotentRequest): Promise<Begun>;
  finish(request: IdempotentRequest, lease: string, answer: StoredAnswer): Promise<void>;
  /** Marks the outcome as unknown. The same request may run again. */
  postpone(request: IdempotentRequest, lease: string): Promise<void>;
  /** Marks the outcome as unknown. The request must not run again. */
  lose(request: IdempotentRequest, lease: string): Promise<void>;
  /** Forgets the key, because the request had no effect. */
  abandon(request: IdempotentRequest, lease: string): Promise<void>;
}
