import { Piscina } from 'piscina';
import { TooLargeError } from '../../../lib/errors.ts';
import { FairLane, requestWaitMsMax } from '../../../lib/fair-lane.ts';
import type { WorkspaceId } from '../../../lib/ids.ts';
import { inflateBounded } from '../../../otlp/inflate.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import type { ContentCoding, OtlpEncoding } from '../../../otlp/media-type.ts';
import { type ScanResult, scanTraces } from '../../../otlp/scan.ts';
import { bodyFaults, type RefusedBody, type ScanOutcome, type ScanTask } from './scan-thread.ts';

/** Nearly every body inflates to less, so it needs no turn: this much memory for each that is admitted. */
const smallBytesMax = 2 * 1024 * 1024;
/** Scanning this much takes about 10 ms (protobuf, JSON): more would hold up the event loop, so it goes to a thread. */
const inlineBytesMax = { protobuf: 2 * 1024 * 1024, json: 512 * 1024 } as const satisfies Record<OtlpEncoding, number>;
/** Each holds one inflated body, and one thread while it is walked. */
const largeBodiesMax = 2;

/** A body as it was received. */
export interface BodyToExamine {
  workspaceId: WorkspaceId;
  encoding: OtlpEncoding;
  coding: ContentCoding;
  body: Buffer;
}

export interface ExaminedBody {
  inflatedBytes: number;
  scan: ScanResult;
}

export interface BodyExaminer {
  /** Throws MalformedError, TooLargeError, RateLimitedError `workspace_busy`, UnavailableError `server_busy`. */
  examine(received: BodyToExamine): Promise<ExaminedBody>;
  close(): Promise<void>;
}

/**
 * Inflates bodies and walks them for faults: small ones at once, large ones in turn and in a thread from inflating until they have
 * been walked, so that many small bombs sent together cost the memory of two and the event loop nothing. The turns are shared by all workspaces: one has at most one of the two
 * and sixteen more waiting.
 */
export function createBodyExaminer(limits: OtlpLimits): BodyExaminer {
  const pool = new Piscina<ScanTask, ScanOutcome>({
    filename: new URL(import.meta.url.endsWith('.ts') ? './scan-thread.ts' : './scan-thread.js', import.meta.url).href,
    name: 'scanInThread',
    minThreads: 0,
    maxThreads: largeBodiesMax,
    idleTimeout: 10_000,
  });
  // The loss of a thread that worked is the error of its task; an error that nobody hears would end the process.
  pool.on('error', () => undefined);
  const turns = new FairLane({
    name: 'large bodies of spans',
    capacity: largeBodiesMax,
    perKey: 1,
    waitingPerKey: 16,
    waitingMax: 32,
    waitMsMax: requestWaitMsMax,
  });

  async function examineLarge({ encoding, coding, body }: BodyToExamine): Promise<ExaminedBody> {
    const outcome = await pool.run({ encoding, coding, body, limits });
    if ('refused' in outcome) throw errorOf(outcome.refused);
    return outcome;
  }

  return {
    async examine(received) {
      const { workspaceId, encoding, coding, body } = received;
      const small = await inflateSmall(coding, body, limits.inflatedBytesMax);
      if (small !== undefined && small.length <= inlineBytesMax[encoding]) {
        return { inflatedBytes: small.length, scan: scanTraces(encoding, small, limits) };
      }
      return turns.run(workspaceId, () => examineLarge(received));
    },
    close: () => pool.destroy(),
  };
}

/** Undefined for what does not turn out small. */
async function inflateSmall(coding: ContentCoding, body: Buffer, bytesMax: number): Promise<Buffer | undefined> {
  if (coding === 'identity' || bytesMax <= smallBytesMax) return inflateBounded(coding, body, bytesMax);
  try {
    return await inflateBounded(coding, body, smallBytesMax);
  } catch (error) {
    if (error instanceof TooLargeError) return undefined;
    throw error;
  }
}

function errorOf({ kind, code, message }: RefusedBody): Error {
  return new bodyFaults[kind](code, message);
}
