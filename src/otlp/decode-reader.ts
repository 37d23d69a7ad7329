import { ProtobufWalk } from './scan-protobuf.ts';
import { traceIdBytes } from './span-checks.ts';
import { cutUtf8, readText } from './text.ts';
import { warning } from './warnings.ts';
import { WireReader } from './wire.ts';

/** The decoder's cursor: strings and bytes on top of the wire, what was bent so far, and the walk for what is left out. */
export class DecodeReader extends WireReader {
  /** Bits of `warning` since `takeWarnings`. */
  warnings = 0;
  #walk: ProtobufWalk | undefined;
  #traceStart = -1;
  #traceId = '';

  text(end: number): string {
    const fieldEnd = this.length(end);
    const start = this.pos;
    this.pos = fieldEnd;
    return readText(this, start, fieldEnd);
  }

  /** A string of an attribute value, cut to the limit of L1. */
  valueText(end: number): string {
    const fieldEnd = this.length(end);
    const start = this.pos;
    this.pos = fieldEnd;
    return readText(this, start, this.#cut(start, fieldEnd, cutUtf8));
  }

  /** Bytes of an attribute value, cut to the limit of L1; a copy, so that the request body can go. */
  valueBytes(end: number): Uint8Array {
    const fieldEnd = this.length(end);
    const start = this.pos;
    this.pos = fieldEnd;
    return new Uint8Array(this.bytes.subarray(start, this.#cut(start, fieldEnd, cutBytes)));
  }

  /** Steps over a message of `type` that is left out, finding it malformed as the scan would. */
  leaveOut(type: number, end: number): void {
    this.#walk ??= new ProtobufWalk(this);
    this.#walk.walk(type, this.message(end));
  }

  /** Hex of the trace id at `start`; the spans of a trace share one string. */
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

  #cut(start: number, end: number, cut: typeof cutUtf8): number {
    const { attributeValueBytesMax } = this.limits;
    if (end - start <= attributeValueBytesMax) return end;
    this.warnings |= warning.attributeTruncated;
    return cut(this.bytes, start, end, attributeValueBytesMax);
  }
}

function cutBytes(_bytes: Uint8Array, start: number, _end: number, bytesMax: number): number {
  return start + bytesMax;
}
