import { ProtobufWalk } from './scan-protobuf.ts';
import { type IdRanges, traceIdBytes } from './span-checks.ts';
import { cutUtf8, readText } from './text.ts';
import { warning } from './warnings.ts';
import { WireReader } from './wire.ts';

/**
 * The cursor of the decoder. It extends the wire reader by strings and bytes, collects warnings,
 * and validates the messages that are not decoded.
 */
export class DecodeReader extends WireReader {
  /** Bits of `warning` since the last `takeWarnings`. */
  warnings = 0;
  #walk: ProtobufWalk | undefined;
  #traceStart = -1;
  #traceId = '';

  /** Reads the key of an attribute, as it is: a cut key could be that of another attribute. */
  key(end: number): string {
    const fieldEnd = this.keyEnd(end);
    const start = this.pos;
    this.pos = fieldEnd;
    return readText(this, start, fieldEnd);
  }

  /** Reads a string outside of attributes and cuts it to `attributeValueBytesMax`. */
  text(end: number): string {
    return this.#cutText(end, warning.textTruncated);
  }

  /** Reads a string of an attribute value and cuts it to `attributeValueBytesMax`. */
  valueText(end: number): string {
    return this.#cutText(end, warning.attributeTruncated);
  }

  /**
   * Reads the bytes of an attribute value and cuts them to `attributeValueBytesMax`. Returns a
   * copy, so that the request body can be freed.
   */
  valueBytes(end: number): Uint8Array {
    const fieldEnd = this.length(end);
    const start = this.pos;
    this.pos = fieldEnd;
    return new Uint8Array(this.bytes.subarray(start, this.#cut(start, fieldEnd, cutBytes, warning.attributeTruncated)));
  }

  /** Reads where the trace id is. */
  traceIdRange(end: number, ids: IdRanges): void {
    ids.traceEnd = this.length(end);
    ids.traceStart = this.pos;
    this.pos = ids.traceEnd;
  }

  /** Reads where the span id is. */
  spanIdRange(end: number, ids: IdRanges): void {
    ids.spanEnd = this.length(end);
    ids.spanStart = this.pos;
    this.pos = ids.spanEnd;
  }

  /** Skips a message of `type`, but validates it as the scan does. What the walk counts is not used. */
  leaveOut(type: number, end: number): void {
    this.#walk ??= new ProtobufWalk(this, 'traces');
    this.#walk.walk(type, this.message(end));
  }

  /** Returns the hex of the trace id at `start`. The spans and log records of a trace share one string. */
  traceIdAt(start: number): string {
    const { bytes } = this;
    if (
      this.#traceStart < 0 ||
      bytes.compare(bytes, this.#traceStart, this.#traceStart + traceIdBytes, start, start + traceIdBytes) !== 0
    ) {
      this.#traceStart = start;
      this.#traceId = bytes.toString('hex', start, start + traceIdBytes);
    }
    return this.#traceId;
  }

  takeWarnings(): number {
    const { warnings } = this;
    this.warnings = 0;
    return warnings;
  }

  #cutText(end: number, truncated: number): string {
    const fieldEnd = this.length(end);
    const start = this.pos;
    this.pos = fieldEnd;
    return readText(this, start, this.#cut(start, fieldEnd, cutUtf8, truncated));
  }

  #cut(start: number, end: number, cut: typeof cutUtf8, truncated: number): number {
    const { attributeValueBytesMax } = this.limits;
    if (end - start <= attributeValueBytesMax) return end;
    this.warnings |= truncated;
    return cut(this.bytes, start, end, attributeValueBytesMax);
  }
}

function cutBytes(_bytes: Uint8Array, start: number, _end: number, bytesMax: number): number {
  return start + bytesMax;
}
