import { type AppError, MalformedError, TooLargeError } from '../../../lib/errors.ts';
import { inflateBounded } from '../../../otlp/inflate.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import type { ContentCoding, OtlpEncoding } from '../../../otlp/media-type.ts';
import { type ScanResult, scanBody } from '../../../otlp/scan.ts';
import type { Signal } from '../../../otlp/signal.ts';
import { lowerThreadPriority } from '../../../runtime/low-priority.ts';

export interface ScanTask {
  signal: Signal;
  encoding: OtlpEncoding;
  coding: ContentCoding;
  body: Uint8Array;
  limits: OtlpLimits;
}

/** The kinds of faults of a body, each with the class that recreates the error. */
export const bodyFaults = {
  malformed: MalformedError,
  too_large: TooLargeError,
} as const;

export interface RefusedBody {
  kind: keyof typeof bodyFaults;
  code: never;
  message: string;
}

/** Errors lose their class between threads, so a refused body is a value here. */
export type ScanOutcome = { inflatedBytes: number; scan: ScanResult } | { refused: RefusedBody };

/** Runs in the thread: inflates and scans a body. The inflated bytes never leave the thread. */
export async function scanInThread({ signal, encoding, coding, body, limits }: ScanTask): Promise<ScanOutcome> {
  lowerThreadPriority();
  try {
    const received = Buffer.from(body.buffer, body.byteOffset, body.length);
    const bytes = await inflateBounded(coding, received, limits.inflatedBytesMax);
    return { inflatedBytes: bytes.length, scan: scanBody(signal, encoding, bytes, limits) };
  } catch (error) {
    if (isBodyFault(error)) return { refused: { kind: error.kind, code: error.code as never, message: error.message } };
    throw error;
  }
}

function isBodyFault(error: unknown): error is AppError<keyof typeof bodyFaults> {
  return Object.values(bodyFaults).some((fault) => error instanceof fault);
}
