import { MalformedError } from '../lib/errors.ts';
import { longKeyMin } from '../lib/text-key.ts';
import { LongStepError, type OtlpLimits } from './limits.ts';

const groupDepthMax = 100;
/** Tags that one step may read for each message that it may read: spans and log records have about two. Unknown fields count as well. */
const tagsPerMessage = 4;
const varintBytesMax = 10;
const twoTo28 = 268_435_456;
/** Below this value 28 more bits fit into the 53 bits of a number. */
const middleExactMax = 33_554_432;

/**
 * Reads protobuf bytes (https://protobuf.dev/programming-guides/encoding/). `end` is the end of the
 * current message; no read goes beyond it. Every fault throws MalformedError with the byte offset.
 * The scan and the decoder share these rules. A known field number with another wire type is an
 * unknown field. Unknown fields are skipped, including groups. Malformed are: a varint of more than
 * ten bytes, field number 0, wire types 6 and 7, an unbalanced group, and truncated data. A varint
 * that is longer than necessary but has at most ten bytes is valid.
 */
export class WireReader {
  readonly bytes: Buffer;
  readonly limits: OtlpLimits;
  pos = 0;
  readonly view: DataView;
  readonly #stepMessagesMax: number;
  readonly #stepTagsMax: number;
  #messages = 0;
  #tags = 0;
  #longKeys = 0;

  constructor(bytes: Uint8Array, limits: OtlpLimits) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.limits = limits;
    this.#stepMessagesMax = limits.stepElementsMax?.protobuf ?? Number.POSITIVE_INFINITY;
    this.#stepTagsMax = tagsPerMessage * this.#stepMessagesMax;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * Reads the next tag: field number * 8 + wire type. Only `skip` checks whether it is valid.
   * @throws LongStepError
   */
  tag(end: number): number {
    if (++this.#tags > this.#stepTagsMax) throw new LongStepError();
    const first = this.bytes[this.pos] as number;
    if (first < 0x80) {
      this.pos++;
      return first;
    }
    const start = this.pos;
    const tag = this.#number(end);
    return tag <= 0xffff_ffff ? tag : this.fail('field number above 536870911', start);
  }

  /** Reads a length and returns the end position of its field. */
  length(end: number): number {
    const start = this.pos;
    const first = start < end ? (this.bytes[start] as number) : 0x80;
    let length = first;
    if (first < 0x80) this.pos = start + 1;
    else length = this.#number(end);
    const fieldEnd = this.pos + length;
    return fieldEnd <= end
      ? fieldEnd
      : this.fail(`length ${length} exceeds the ${end - this.pos} bytes that its message has left`, start);
  }

  /**
   * Like `length`, but for a message: it also counts toward `messagesMax`.
   * @throws LongStepError
   */
  message(end: number): number {
    if (++this.#messages > this.limits.messagesMax)
      this.fail(`more than ${this.limits.messagesMax} messages`, this.pos);
    if (this.#messages > this.#stepMessagesMax) throw new LongStepError();
    return this.length(end);
  }

  /** Like `length`, but for the key of an attribute. */
  keyEnd(end: number): number {
    const fieldEnd = this.length(end);
    const { longKeysMax } = this.limits;
    if (fieldEnd - this.pos >= longKeyMin && ++this.#longKeys > longKeysMax)
      this.fail(`more than ${longKeysMax} keys of ${longKeyMin} bytes and more`, this.pos);
    return fieldEnd;
  }

  /** Reads the low 32 bits of a varint, signed. */
  int32(end: number): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#varintByte(end, shift);
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  uint32(end: number): number {
    return this.int32(end) >>> 0;
  }

  bool(end: number): boolean {
    let bits = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#varintByte(end, shift);
      bits |= byte & 0x7f;
      if (byte < 0x80) return bits !== 0;
    }
  }

  int64(end: number): bigint {
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#varintByte(end, shift);
      if (shift < 28) low |= (byte & 0x7f) << shift;
      else if (shift < 56) middle |= (byte & 0x7f) << (shift - 28);
      else high |= (byte & 0x7f) << (shift - 56);
      if (byte < 0x80) break;
    }
    if (high === 0 && middle < middleExactMax) return BigInt(middle * twoTo28 + low);
    return BigInt.asIntN(64, (BigInt(high) << 56n) | (BigInt(middle) << 28n) | BigInt(low));
  }

  fixed32(end: number): number {
    return this.view.getUint32(this.#take(4, end), true);
  }

  fixed64(end: number): bigint {
    return this.view.getBigUint64(this.#take(8, end), true);
  }

  double(end: number): number {
    return this.view.getFloat64(this.#take(8, end), true);
  }

  /** Skips the field whose tag was just read. */
  skip(tag: number, end: number): void {
    const wireType = tag & 7;
    if (tag < 8) this.fail('field number 0', this.pos - 1);
    if (wireType === 3) this.#skipGroup(tag, end);
    else this.#skipScalar(wireType, end);
  }

  fail(what: string, offset: number): never {
    throw new MalformedError('malformed_otlp', `Not an OTLP protobuf body: ${what} at byte ${offset}`);
  }

  #skipScalar(wireType: number, end: number): void {
    if (wireType === 2) this.pos = this.length(end);
    else if (wireType === 0) this.bool(end);
    else if (wireType === 1) this.#take(8, end);
    else if (wireType === 5) this.#take(4, end);
    else if (wireType === 4) this.fail('end of a group that was not started', this.pos - 1);
    else this.fail(`wire type ${wireType}`, this.pos - 1);
  }

  #skipGroup(startTag: number, end: number): void {
    const open = [startTag];
    while (open.length > 0) {
      if (this.pos >= end) this.fail('group without an end', this.pos);
      const tag = this.tag(end);
      const wireType = tag & 7;
      if (tag < 8) this.fail('field number 0', this.pos - 1);
      if (wireType === 3) {
        if (open.push(tag) > groupDepthMax) this.fail(`groups nested more than ${groupDepthMax} levels deep`, this.pos);
      } else if (wireType !== 4) this.#skipScalar(wireType, end);
      else if (open.pop() !== tag - 1) this.fail('end of a group that was not started', this.pos - 1);
    }
  }

  #take(count: number, end: number): number {
    const start = this.pos;
    if (start + count > end) this.fail(`value of ${count} bytes is incomplete`, start);
    this.pos = start + count;
    return start;
  }

  #varintByte(end: number, shift: number): number {
    if (this.pos >= end) this.fail('varint is incomplete', this.pos);
    if (shift >= 7 * varintBytesMax) this.fail(`varint longer than ${varintBytesMax} bytes`, this.pos);
    return this.bytes[this.pos++] as number;
  }

  /**
   * Reads a varint as a number. It is inexact above 2^53, which is above every limit that it is
   * compared with.
   */
  #number(end: number): number {
    let value = 0;
    let factor = 1;
    for (let shift = 0; ; shift += 7, factor *= 128) {
      const byte = this.#varintByte(end, shift);
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }
}
