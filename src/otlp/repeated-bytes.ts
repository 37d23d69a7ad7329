import { resourceToJson, scopeToJson } from './origin-json.ts';
import type { Resource, Scope } from './span.ts';
import type { WireReader } from './wire.ts';

/** The JSON of a message in a resource or scope has at most so many bytes more than the message. */
const jsonBytesPerMessage = 20;
/** The JSON of a resource or scope without attributes and texts. */
const jsonBytesBesides = 100;

/** What a byte of a text takes in JSON, if it is UTF-8: escaped or as it is. */
const quotedBytes = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x20) return 6;
  return byte === 0x22 || byte === 0x5c ? 2 : 1;
});

/** A resource or scope that is being walked. */
interface Origin {
  /** Bytes of its JSON, so far. */
  bytes: number;
  /** Number of items that were accepted before it. */
  accepted: number;
}

/**
 * Adds up the resources and scopes of protobuf as a `ProtobufWalk` passes them, because each row
 * has its own copy in JSON. The sum is never less than these bytes if texts are UTF-8, and about one and a half times
 * as much for attributes of plain text. A resource or scope with one item counts nothing: its row is
 * about as large as the body.
 */
export class RepeatedBytes {
  /** Bytes of the resources and scopes in the rows of all accepted items so far. */
  total = 0;
  readonly #reader: WireReader;
  readonly #resource: Origin = { bytes: 0, accepted: 0 };
  readonly #scope: Origin = { bytes: 0, accepted: 0 };
  /** Where the bytes begin that are not yet counted to one of them, and what JSON adds to them. */
  #start = 0;
  #added = 0;

  constructor(reader: WireReader) {
    this.#reader = reader;
  }

  /** Notes a message of any type, to which JSON adds names. */
  addMessage(): void {
    this.#added += jsonBytesPerMessage;
  }

  /** Notes a value of bytes, which JSON has in base64. */
  addBytes(length: number): void {
    this.#added += Math.ceil(length / 3) + 4;
  }

  beginResource(accepted: number): void {
    this.#begin(this.#resource, accepted);
  }

  /** Begins a scope whose tag is at `tagStart`. */
  beginScope(tagStart: number, accepted: number): void {
    this.#count(this.#resource, tagStart);
    this.#begin(this.#scope, accepted);
  }

  /** Begins an item whose tag is at `tagStart`. What follows is its own until {@link endItem}. */
  beginItem(tagStart: number): void {
    this.#count(this.#scope, tagStart);
  }

  endItem(): void {
    this.#skip();
  }

  endScope(accepted: number): void {
    this.#end(this.#scope, accepted);
  }

  endResource(accepted: number): void {
    this.#end(this.#resource, accepted);
  }

  #begin(origin: Origin, accepted: number): void {
    origin.bytes = jsonBytesBesides;
    origin.accepted = accepted;
    this.#skip();
  }

  #end(origin: Origin, accepted: number): void {
    this.#count(origin, this.#reader.pos);
    this.#skip();
    const items = accepted - origin.accepted;
    if (items > 1) this.total += origin.bytes * items;
  }

  #count(origin: Origin, end: number): void {
    const { bytes } = this.#reader;
    origin.bytes += this.#added;
    for (let at = this.#start; at < end; at++) origin.bytes += quotedBytes[bytes[at] as number] as number;
  }

  #skip(): void {
    this.#start = this.#reader.pos;
    this.#added = 0;
  }
}

/** Returns the same for decoded items, exactly. */
export function repeatedBytesOf(items: readonly { resource: Resource; scope: Scope }[]): number {
  const resources = new Map<Resource, number>();
  const scopes = new Map<Scope, number>();
  for (const { resource, scope } of items) {
    resources.set(resource, (resources.get(resource) ?? 0) + 1);
    scopes.set(scope, (scopes.get(scope) ?? 0) + 1);
  }
  let total = 0;
  for (const [resource, count] of resources)
    if (count > 1) total += Buffer.byteLength(resourceToJson(resource)) * count;
  for (const [scope, count] of scopes) if (count > 1) total += Buffer.byteLength(scopeToJson(scope)) * count;
  return total;
}
