import { TooLargeError } from '../lib/errors.ts';
import { readLogRecord } from './json-log-record.ts';
import { readJsonRequest } from './json-request.ts';
import { readSpan } from './json-span.ts';
import { LongStepError, type OtlpLimits } from './limits.ts';
import type { LogRecord } from './log-record.ts';
import type { OtlpEncoding } from './media-type.ts';
import { refuseOtherItems } from './other-signal.ts';
import { signalTerms } from './otlp-schema.ts';
import { repeatedBytesOf } from './repeated-bytes.ts';
import { evaluationEvent, ProtobufWalk } from './scan-protobuf.ts';
import type { Signal } from './signal.ts';
import type { Span } from './span.ts';
import { warningSentences } from './warnings.ts';
import { WireReader } from './wire.ts';

export interface ScanResult {
  /** Number of accepted spans or log records: as many as decoding returns for the same bytes. */
  accepted: number;
  rejected: number;
  /** Why some were rejected, in English with counts, at most eleven lines. */
  reasons: string[];
  /** Values that were accepted with changes, or are probably a mistake of the sender. */
  warnings: string[];
  /** Accepted log records that belong to no span, and are not about a whole trace; undefined for traces. */
  withoutSpan: number | undefined;
  /**
   * Bytes of the resources and scopes in the rows of the accepted items, where several items share
   * one. For protobuf it may be more than that.
   */
  repeatedBytes: number;
}

/**
 * Validates a request body of `signal` without decoding it. `decodeTraces` or `decodeLogs` can
 * decode every body that passes. Single invalid spans or log records are only counted.
 * @throws MalformedError (`malformed_otlp`) when the body as a whole is not OTLP, or is a body of
 * another signal
 * @throws TooLargeError (`body_too_large`) when the rows would repeat too many bytes
 * @throws LongStepError
 */
export function scanBody(signal: Signal, encoding: OtlpEncoding, bytes: Uint8Array, limits: OtlpLimits): ScanResult {
  const scan = encoding === 'protobuf' ? scanProtobuf(signal, bytes, limits) : scanJson(signal, bytes, limits);
  if (scan.repeatedBytes > limits.repeatedBytesMax) throw tooMuchRepeated(signal, scan, limits);
  return scan;
}

function tooMuchRepeated(signal: Signal, scan: ScanResult, { repeatedBytesMax }: OtlpLimits): TooLargeError {
  const { item, items } = signalTerms[signal];
  return new TooLargeError(
    'body_too_large',
    `Each ${item} is stored with its own copy of its resource and scope. For the ${scan.accepted} ${items} of this ` +
      `request, the copies have ${scan.repeatedBytes} bytes; the limit is ${repeatedBytesMax}. Send fewer ${items} in ` +
      'a request, or smaller attributes of the resource and scope.',
  );
}

/**
 * Validates a body of spans, see `scanBody`.
 * @throws MalformedError (`malformed_otlp`) when the body as a whole is not OTLP traces
 */
export function scanTraces(encoding: OtlpEncoding, bytes: Uint8Array, limits: OtlpLimits): ScanResult {
  return scanBody('traces', encoding, bytes, limits);
}

/**
 * Validates a body of log records, see `scanBody`.
 * @throws MalformedError (`malformed_otlp`) when the body as a whole is not OTLP logs
 */
export function scanLogs(encoding: OtlpEncoding, bytes: Uint8Array, limits: OtlpLimits): ScanResult {
  return scanBody('logs', encoding, bytes, limits);
}

function scanProtobuf(signal: Signal, bytes: Uint8Array, limits: OtlpLimits): ScanResult {
  const walk = new ProtobufWalk(new WireReader(bytes, limits), signal);
  try {
    walk.walk(signalTerms[signal].requestMessage, bytes.length);
  } catch (error) {
    if (error instanceof LongStepError) throw error;
    // The bytes of another signal's messages are often malformed as those of this one.
    refuseOtherItems(signal, 0, bytes, limits);
    throw error;
  }
  refuseOtherItems(signal, walk.accepted, bytes, limits);
  return {
    accepted: walk.accepted,
    rejected: walk.rejections.count,
    reasons: walk.rejections.reasons(),
    warnings: warningSentences(walk.warnings, limits, signal),
    withoutSpan: signal === 'logs' ? walk.withoutSpan : undefined,
    repeatedBytes: walk.repeatedBytes,
  };
}

function scanJson(signal: Signal, bytes: Uint8Array, limits: OtlpLimits): ScanResult {
  const { items, rejections, warnings, notices } =
    signal === 'traces'
      ? readJsonRequest(signal, readSpan, bytes, limits)
      : readJsonRequest(signal, readLogRecord, bytes, limits);
  return {
    accepted: items.length,
    rejected: rejections.count,
    reasons: rejections.reasons(),
    warnings: [...notices, ...warningSentences(warnings, limits, signal)],
    withoutSpan: signal === 'logs' ? items.filter(isWithoutSpan).length : undefined,
    repeatedBytes: repeatedBytesOf(items),
  };
}

function isWithoutSpan(item: Span | LogRecord): boolean {
  if (item.traceId === '') return true;
  if (item.spanId !== '') return false;
  return !('eventName' in item) || (item.eventName || item.attributes.get('event.name')) !== evaluationEvent;
}
