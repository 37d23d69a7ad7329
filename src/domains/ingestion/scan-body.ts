import { Piscina } from 'piscina';
import { MalformedError } from '../../lib/errors.ts';
import type { OtlpLimits } from './otlp/limits.ts';
import type { OtlpEncoding } from './otlp/media-type.ts';
import { type ScanResult, scanTraces } from './otlp/scan.ts';
import type { ScanOutcome, ScanTask } from './scan-thread.ts';

/** Scanning this much takes about 10 ms (protobuf, JSON): more would hold up the event loop, so it goes to a thread. */
const inlineBytesMax = { protobuf: 2 * 1024 * 1024, json: 512 * 1024 } as const satisfies Record<OtlpEncoding, number>;

export type BodyScanner = (encoding: OtlpEncoding, bytes: Buffer) => Promise<ScanResult>;

/** Walks bodies for faults: small ones here, large ones in a thread. Throws MalformedError. */
export function createBodyScanner(limits: OtlpLimits): { scan: BodyScanner; close: () => Promise<void> } {
  const pool = new Piscina<ScanTask, ScanOutcome>({
    filename: new URL(import.meta.url.endsWith('.ts') ? './scan-thread.ts' : './scan-thread.js', import.meta.url).href,
    name: 'scanInThread',
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: 10_000,
  });
  return {
    async scan(encoding, bytes) {
      if (bytes.length <= inlineBytesMax[encoding]) return scanTraces(encoding, bytes, limits);
      const outcome = await pool.run({ encoding, bytes, limits });
      if ('malformed' in outcome) throw new MalformedError(outcome.malformed.code, outcome.malformed.message);
      return outcome;
    },
    close: () => pool.destroy(),
  };
}
