import { type AppError, MalformedError, TooLargeError } from '../../../lib/errors.ts';
import { inflateBounded } from '../../../otlp/inflate.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import type { ContentCoding, OtlpEncoding } from '../../../otlp/media-type.ts';
import { type ScanResult, scanTraces } from '../../../otlp/scan.ts';
import { lowerThreadPriority } from '../../../runtime/low-priority.ts';

export interface ScanTask {
  encoding: OtlpEncoding;
  coding: ContentCoding;
  body: Uint8Array;
  limits: OtlpLimits;
}

/** What may be wrong with a body, with what makes it an error again. */
export const bodyFaults = {
  malformed: MalformedError,
  too_large: TooLargeError,
} as const;

export interface RefusedBody {
  kind: keyof typeof bodyFaults;
  code: never;
  message: string;
}

/** Errors lose their class between threads, so a body that is refused is a value here. */
export type ScanOutcome = { inflatedBytes: number; scan: ScanResult } | { refused: RefusedBody };

/** What the thread runs: the inflated body is made, walked and forgotten here. */
export async function scanInThread({ encoding, coding, body, limits }: ScanTask): Promise<ScanOutcome> {
  lowerThreadPriority();
  try {
    const received = Buffer.from(body.buffer, body.byteOffset, body.length);
    const bytes = await inflateBounded(coding, received, limits.inflatedBytesMax);
    return { inflatedBytes: bytes.length, scan: scanTraces(encoding, bytes, limits) };
  } catch (error) {
    if (isBodyFault(error)) return { refused: { kind: error.kind, code: error.code as never, message: error.message } };
    throw error;
  }
}

function isBodyFault(error: unknown): error is AppError<keyof typeof bodyFaults> {
  return Object.values(bodyFaults).some((fault) => error instanceof fault);
}
