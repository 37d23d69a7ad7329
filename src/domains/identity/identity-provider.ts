import type { IncomingHttpHeaders } from 'node:http';
import type { IdentityChange } from '../../queue/identity-event.ts';

/** A delivery as it came, to be verified before anything is parsed. */
export interface Delivery {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A verified delivery: `payload` is its body, parsed. */
export interface ReceivedEvent {
  headers: IncomingHttpHeaders;
  payload: unknown;
}

/** How one provider signs and words its events. The readers throw InvalidError for what lacks its fields. */
export interface IdentityProvider {
  /** Whether the body was signed with one of the secrets at most five minutes before or after now. Constant in time. */
  verify(delivery: Delivery, secrets: readonly string[]): boolean;
  /** The same for every attempt to deliver one event. */
  extractId(event: ReceivedEvent): string;
  extractType(event: ReceivedEvent): string;
  /** When the provider changed the object, in milliseconds since the epoch; where it does not say, when it sent the event. */
  extractOccurredAt(event: ReceivedEvent): number;
  /** Undefined for a kind of event that changes nothing here. */
  toChange(event: ReceivedEvent): IdentityChange | undefined;
}
