import { readJsonTraces } from './json-traces.ts';
import type { OtlpLimits } from './limits.ts';
import type { OtlpEncoding } from './media-type.ts';
import { message } from './otlp-schema.ts';
import { ProtobufWalk } from './scan-protobuf.ts';
import { warningSentences } from './warnings.ts';
import { WireReader } from './wire.ts';

export interface ScanResult {
  /** Number of accepted spans: as many as `decodeTraces` returns for the same bytes. */
  spans: number;
  rejected: number;
  /** Why spans were rejected, in English with counts, at most eleven lines. */
  reasons: string[];
  /** Values that were accepted with changes, or are probably a mistake of the sender. */
  warnings: string[];
}

/**
 * Validates a request body without decoding it. `decodeTraces` can decode every body that passes.
 * Single invalid spans are only counted.
 * @throws MalformedError (`malformed_otlp`) when the body as a whole is not OTLP
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
