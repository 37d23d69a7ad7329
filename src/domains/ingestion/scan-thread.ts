import { MalformedError } from '../../lib/errors.ts';
import type { OtlpLimits } from './otlp/limits.ts';
import type { OtlpEncoding } from './otlp/media-type.ts';
import { type ScanResult, scanTraces } from './otlp/scan.ts';

export interface ScanTask {
  encoding: OtlpEncoding;
  bytes: Uint8Array;
  limits: OtlpLimits;
}

/** Errors lose their class between threads, so a malformed body is a value here. */
export type ScanOutcome = ScanResult | { malformed: { code: 'malformed_otlp'; message: string } };

/** What the thread runs. */
export function scanInThread({ encoding, bytes, limits }: ScanTask): ScanOutcome {
  try {
    return scanTraces(encoding, bytes, limits);
  } catch (error) {
    if (error instanceof MalformedError) return { malformed: { code: 'malformed_otlp', message: error.message } };
    throw error;
  }
}
