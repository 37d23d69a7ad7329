import { MalformedError } from '../lib/errors.ts';
import type { OtlpLimits } from './limits.ts';
import { actions, mark, message, messageNames, signalTerms, tagsPerMessage } from './otlp-schema.ts';
import { type ItemFault, overLimitFault, Rejections } from './rejections.ts';
import { RepeatedBytes } from './repeated-bytes.ts';
import type { Signal } from './signal.ts';
import {
  emptyIdRanges,
  type IdRanges,
  idFault,
  isId,
  resetIdRanges,
  spanIdBytes,
  traceIdBytes,
} from './span-checks.ts';
import { warning } from './warnings.ts';
import type { WireReader } from './wire.ts';

/** The event whose records may belong to a trace without a span. */
export const evaluationEvent = 'gen_ai.evaluation.result';

/** The key of a KeyValue: field 1, bytes. */
const keyTag = 0x0a;

/** Stack frames above the values of an attribute, and the maximum frames per level of AnyValue. */
const framesOutsideValues = 8;
const framesPerValue = 3;

/**
 * Walks the structure of OTLP protobuf bytes with its own stack: no objects, no strings, no
 * recursion. The decoder uses it for the messages that it skips, so that both find the same bodies
 * malformed.
 */
export class ProtobufWalk {
  /** Number of accepted spans or log records. */
  accepted = 0;
  /** Accepted log records that belong to no span, and are not about a whole trace. */
  withoutSpan = 0;
  warnings = 0;
  readonly rejections: Rejections;
  readonly #repeated: RepeatedBytes;
  readonly #itemMessage: number;
  readonly #resourceMessage: number;
  readonly #scopeMessage: number;
  readonly #itemsMax: number;
  readonly #overLimit: ItemFault;
  readonly #reader: WireReader;
  readonly #limits: OtlpLimits;
  readonly #types: Uint8Array;
  readonly #ends: Int32Array;
  readonly #attributeCounts: Int32Array;
  /** Where the current log record begins. */
  #recordStart = 0;
  readonly #spanIds = emptyIdRanges();
  readonly #linkIds = emptyIdRanges();
  #events = 0;
  #links = 0;

  /** Counts the items of `signal`. */
  constructor(reader: WireReader, signal: Signal) {
    const frames = framesOutsideValues + framesPerValue * reader.limits.depthMax;
    const { itemMessage, resourceMessage, scopeMessage, itemsMax } = signalTerms[signal];
    this.rejections = new Rejections(signal);
    this.#repeated = new RepeatedBytes(reader);
    this.#itemMessage = itemMessage;
    this.#resourceMessage = resourceMessage;
    this.#scopeMessage = scopeMessage;
    this.#itemsMax = reader.limits[itemsMax];
    this.#overLimit = overLimitFault(signal, this.#itemsMax);
    this.#reader = reader;
    this.#limits = reader.limits;
    this.#types = new Uint8Array(frames);
    this.#ends = new Int32Array(frames);
    this.#attributeCounts = new Int32Array(frames);
  }

  /** Bytes of the resources and scopes in the rows of the accepted items, at most; see `RepeatedBytes`. */
  get repeatedBytes(): number {
    return this.#repeated.total;
  }

  /**
   * Walks one message of type `root` from the position of the reader to `rootEnd`.
   * @throws MalformedError on invalid protobuf data
   */
  walk(root: number, rootEnd: number): void {
    const reader = this.#reader;
    let type = root;
    let end = rootEnd;
    let frame = 0;
    let attributes = 0;
    let valueDepth = 0;
    try {
      for (;;) {
        while (reader.pos === end) {
          this.#leave(type);
          if (type === message.anyValue) valueDepth--;
          if (frame === 0) return;
          frame--;
          type = this.#types[frame] as number;
          end = this.#ends[frame] as number;
          attributes = this.#attributeCounts[frame] as number;
        }
        const tagStart = reader.pos;
        const tag = reader.tag(end);
        const action = tag < tagsPerMessage ? (actions[type * tagsPerMessage + tag] as number) : 0;
        if (type === message.keyValue && tag === keyTag) reader.pos = reader.keyEnd(end);
        else if (action === 0) reader.skip(tag, end);
        else if (action === mark.strindex) this.#ignoreStrindex(tag, end);
        else if (action >= mark.limited) this.#note(action, type, end);
        else {
          const childEnd = reader.message(end);
          if (action === message.keyValue && ++attributes > this.#limits.attributesMax && type !== message.keyValueList)
            this.warnings |= warning.attributesDropped;
          if (action === message.anyValue && ++valueDepth > this.#limits.depthMax) valueTooDeep(reader);
          this.#types[frame] = type;
          this.#ends[frame] = end;
          this.#attributeCounts[frame] = attributes;
          frame++;
          this.#enter(action, tagStart);
          type = action;
          end = childEnd;
          attributes = 0;
        }
      }
    } catch (error) {
      throw error instanceof MalformedError ? this.#located(error, type, frame) : error;
    }
  }

  #enter(type: number, tagStart: number): void {
    const repeated = this.#repeated;
    if (type === this.#itemMessage) repeated.beginItem(tagStart);
    else if (type === this.#scopeMessage) repeated.beginScope(tagStart, this.accepted);
    else if (type === this.#resourceMessage) repeated.beginResource(this.accepted);
    else repeated.addMessage();
    if (type === message.keyValue || type === message.anyValue) return;
    if (type === message.span) {
      resetIdRanges(this.#spanIds);
      this.#events = 0;
      this.#links = 0;
    } else if (type === message.logRecord) {
      resetIdRanges(this.#spanIds);
      this.#recordStart = this.#reader.pos;
    } else if (type === message.event) {
      if (++this.#events > this.#limits.eventsMax) this.warnings |= warning.eventsDropped;
    } else if (type === message.link) {
      resetIdRanges(this.#linkIds);
      if (++this.#links > this.#limits.linksMax) this.warnings |= warning.linksDropped;
    }
  }

  #leave(type: number): void {
    if (type === message.keyValue || type === message.anyValue) return;
    if (type === this.#itemMessage) {
      const fault = type === message.span ? idFault(this.#reader.bytes, this.#spanIds) : undefined;
      if (fault) this.rejections.add(fault);
      else if (this.accepted < this.#itemsMax) {
        this.accepted++;
        if (type === message.logRecord && !this.#belongs()) this.withoutSpan++;
      } else this.rejections.add(this.#overLimit);
      this.#repeated.endItem();
    } else if (type === this.#scopeMessage) this.#repeated.endScope(this.accepted);
    else if (type === this.#resourceMessage) this.#repeated.endResource(this.accepted);
    else if (type === message.link && !isLink(this.#reader.bytes, this.#linkIds)) {
      this.warnings |= warning.invalidLink;
    }
  }

  /** Returns whether the log record has a trace and a span, or is about a whole trace. */
  #belongs(): boolean {
    const { bytes, pos } = this.#reader;
    if (isLink(bytes, this.#spanIds)) return true;
    const { traceStart, traceEnd } = this.#spanIds;
    return (
      isId(bytes, traceStart, traceEnd, traceIdBytes) &&
      bytes.subarray(this.#recordStart, pos).includes(evaluationEvent)
    );
  }

  #note(action: number, type: number, end: number): void {
    const reader = this.#reader;
    const fieldEnd = reader.length(end);
    const start = reader.pos;
    const ids = type === message.link ? this.#linkIds : this.#spanIds;
    reader.pos = fieldEnd;
    if (action === mark.limited || action === mark.limitedBytes || action === mark.text) {
      const length = fieldEnd - start;
      if (action === mark.limitedBytes) this.#repeated.addBytes(length);
      if (length > this.#limits.attributeValueBytesMax)
        this.warnings |= action === mark.text ? warning.textTruncated : warning.attributeTruncated;
    } else if (action === mark.traceId) {
      ids.traceStart = start;
      ids.traceEnd = fieldEnd;
    } else if (action === mark.spanId) {
      ids.spanStart = start;
      ids.spanEnd = fieldEnd;
    } else {
      ids.parentStart = start;
      ids.parentEnd = fieldEnd;
    }
  }

  #ignoreStrindex(tag: number, end: number): void {
    this.warnings |= warning.strindexIgnored;
    this.#reader.skip(tag, end);
  }

  #located(error: MalformedError, type: number, frame: number): MalformedError {
    const outer = [...this.#types.subarray(0, frame), type].map((id) => messageNames[id]);
    const path = outer.length <= 12 ? outer.join('.') : `${outer.slice(0, 8).join('.')}...${outer.slice(-2).join('.')}`;
    return new MalformedError(error.code, `${error.message} (in ${path})`);
  }
}

/**
 * Fails for a value that is nested too deep. The scan and the decoder share this message.
 * @throws MalformedError
 */
export function valueTooDeep(reader: WireReader): never {
  reader.fail(`attribute values nested more than ${reader.limits.depthMax} levels deep`, reader.pos);
}

/** Returns whether the trace id and the span id of a link are valid. */
export function isLink(bytes: Buffer, ids: IdRanges): boolean {
  return (
    isId(bytes, ids.traceStart, ids.traceEnd, traceIdBytes) && isId(bytes, ids.spanStart, ids.spanEnd, spanIdBytes)
  );
}
