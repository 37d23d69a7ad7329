import type { IncomingHttpHeaders } from 'node:http';
import type { IdentityChange } from '../../queue/identity-event.ts';

/** A delivery as received. It must be verified before anything is parsed. */
export interface Delivery {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A verified delivery. `payload` is its parsed body. */
export interface ReceivedEvent {
  headers: IncomingHttpHeaders;
  payload: unknown;
}

/**
 * Defines how one provider signs and formats its events. The readers throw InvalidError when a
 * field is missing.
 */
export interface IdentityProvider {
  /**
   * Returns whether the body was signed with one of the secrets, at most five minutes before or
   * after now. Runs in constant time.
   */
  verify(delivery: Delivery, secrets: readonly string[]): boolean;
  /** Returns the event id. It is the same for every delivery attempt. */
  extractId(event: ReceivedEvent): string;
  extractType(event: ReceivedEvent): string;
  /**
   * Returns when the provider changed the object, in milliseconds since the epoch. If the provider
   * does not tell it, returns when the event happened or was sent. A deletion has the latest of these times.
   */
  extractOccurredAt(event: ReceivedEvent): number;
  /** Returns the change, or undefined for an event type that changes nothing here. */
  toChange(event: ReceivedEvent): IdentityChange | undefined;
}
