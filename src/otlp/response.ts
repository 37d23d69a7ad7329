import protobuf from 'protobufjs/minimal.js';
import type { OtlpEncoding } from './media-type.ts';
import type { ExportedSignal } from './signal.ts';
import { cutUtf8 } from './text.ts';

export interface ExportOutcome {
  /** Permanently rejected spans, log records or data points. The client must not send them again. */
  rejected: number;
  message: string;
}

export interface FieldViolation {
  field: string;
  description: string;
}

export interface Status {
  /** google.rpc.Code */
  code: number;
  message: string;
  fieldViolations?: readonly FieldViolation[];
}

/** Maps an HTTP status to google.rpc.Code, as gRPC does. */
export const rpcCodes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  402: 8,
  403: 7,
  404: 12,
  405: 12,
  408: 4,
  413: 8,
  415: 3,
  429: 8,
  500: 13,
  503: 14,
};

/**
 * At worst JSON needs six bytes per character (`\u0000`); then a whole response still stays under 4
 * MiB.
 */
const messageBytesMax = 512 * 1024;
const violationsMax = 50;
const violationBytesMax = 1024;

const badRequestType = 'type.googleapis.com/google.rpc.BadRequest';

/** The count in OTLP/JSON. In protobuf it is field 1 for every signal. */
const rejectedMembers: Readonly<Record<ExportedSignal, string>> = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
};

/**
 * Encodes an ExportTraceServiceResponse, ExportLogsServiceResponse or ExportMetricsServiceResponse.
 * If there is nothing to report, it is the empty message, not a partial success of 0 and ''.
 */
export function encodeExportResponse(signal: ExportedSignal, encoding: OtlpEncoding, outcome: ExportOutcome): Buffer {
  const { rejected } = outcome;
  const message = cut(outcome.message, messageBytesMax);
  const silent = rejected === 0 && message === '';
  if (encoding === 'json') {
    const partialSuccess = {
      ...(rejected !== 0 && { [rejectedMembers[signal]]: String(rejected) }),
      ...(message !== '' && { errorMessage: message }),
    };
    return json(silent ? {} : { partialSuccess });
  }
  const writer = protobuf.Writer.create();
  if (!silent) {
    writer.uint32(0x0a).fork();
    if (rejected !== 0) writer.uint32(0x08).int64(rejected);
    text(writer, 0x12, message);
    writer.ldelim();
  }
  return Buffer.from(writer.finish());
}

/** Encodes a google.rpc.Status, with the violations as a BadRequest detail. */
export function encodeStatus(encoding: OtlpEncoding, status: Status): Buffer {
  const message = cut(status.message, messageBytesMax);
  const fieldViolations = (status.fieldViolations ?? []).slice(0, violationsMax).map((violation) => ({
    field: cut(violation.field, violationBytesMax),
    description: cut(violation.description, violationBytesMax),
  }));
  if (encoding === 'json') {
    const details = fieldViolations.length > 0 && { details: [{ '@type': badRequestType, fieldViolations }] };
    return json({ code: status.code, message, ...details });
  }
  const writer = protobuf.Writer.create();
  if (status.code !== 0) writer.uint32(0x08).int32(status.code);
  text(writer, 0x12, message);
  if (fieldViolations.length > 0) {
    writer.uint32(0x1a).fork();
    text(writer, 0x0a, badRequestType);
    writer.uint32(0x12).bytes(badRequest(fieldViolations)).ldelim();
  }
  return Buffer.from(writer.finish());
}

function badRequest(violations: readonly FieldViolation[]): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const { field, description } of violations) {
    writer.uint32(0x0a).fork();
    text(writer, 0x0a, field);
    text(writer, 0x12, description);
    writer.ldelim();
  }
  return writer.finish();
}

function text(writer: protobuf.Writer, tag: number, value: string): void {
  if (value !== '') writer.uint32(tag).string(value);
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function cut(value: string, bytesMax: number): string {
  const bytes = Buffer.from(value);
  return bytes.toString('utf8', 0, cutUtf8(bytes, 0, bytes.length, bytesMax));
}
