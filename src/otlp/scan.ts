import { readJsonTraces } from './json-traces.ts';
import type { OtlpLimits } from './limits.ts';
import type { OtlpEncoding } from './media-type.ts';
import { message } from './otlp-schema.ts';
import { ProtobufWalk } from './scan-protobuf.ts';
import { warningSentences } from './warnings.ts';
import { WireReader } from './wire.ts';

export interface ScanResult {
  /** Spans accepted: as many as `decodeTraces` gives for the same bytes. */
  spans: number;
  rejected: number;
  /** Why spans were rejected, in English with counts, at most eleven lines. */
  reasons: string[];
  /** What was accepted but bent, or is likely a mistake of the sender. */
  warnings: string[];
}

/**
 * Judges a request body at the edge without decoding it: what it passes, `decodeTraces` decodes.
 * Throws MalformedError (`malformed_otlp`) when the body as a whole is not OTLP; bad single spans are only counted.
 */
export function scanTraces(encoding: OtlpEncoding, bytes: Uint8Array, limits: OtlpLimits): ScanResult {
  return encoding === 'protobuf' ? scanProtobuf(bytes, limits) : scanJson(bytes, limits);
}

function scanProtobuf(bytes: Uint8Array, limits: OtlpLimits): ScanResult {
  const walk = new ProtobufWalk(new WireReader(bytes, limits));
  walk.walk(message.request, bytes.length);
  return {
    spans: walk.spans,
    rejected: walk.rejections.count,
    reasons: walk.rejections.reasons(),
    warnings: warningSentences(walk.warnings, limits),
  };
}

function scanJson(bytes: Uint8Array, limits: OtlpLimits): ScanResult {
  const { spans, rejections, warnings, notices } = readJsonTraces(bytes, limits);
  return {
    spans: spans.length,
    rejected: rejections.count,
    reasons: rejections.reasons(),
    warnings: [...notices, ...warningSentences(warnings, limits)],
  };
}
