import { Piscina } from 'piscina';
import { TooLargeError, UnavailableError } from '../../../lib/errors.ts';
import { FairLane } from '../../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../../lib/fair-lane-options.ts';
import type { WorkspaceId } from '../../../lib/ids.ts';
import { inSharedTurn } from '../../../lib/pace.ts';
import { inflateBounded } from '../../../otlp/inflate.ts';
import { LongStepError, type OtlpLimits, stepElementsMax } from '../../../otlp/limits.ts';
import type { ContentCoding, OtlpEncoding } from '../../../otlp/media-type.ts';
import { type ScanResult, scanBody } from '../../../otlp/scan.ts';
import type { Signal } from '../../../otlp/signal.ts';
import { bodyFaults, type RefusedBody, type ScanOutcome, type ScanTask } from './scan-thread.ts';

/**
 * Nearly every body inflates to less than this and needs no turn. Each admitted body may use this
 * much memory.
 */
const smallBytesMax = 2 * 1024 * 1024;
/**
 * Scanning this much takes about 10 ms. More would block the event loop, so it runs in a thread.
 */
const inlineBytesMax = { protobuf: 2 * 1024 * 1024, json: 512 * 1024 } as const satisfies Record<OtlpEncoding, number>;
/** Compressed bodies over this size are inflated in a thread, whatever size they state. */
const codedBytesMax = 512 * 1024;
/** Number of large bodies at a time. Each holds one inflated body, and one thread while it is scanned. */
const largeBodiesMax = 2;
/** The worst body within the limits takes about 3 s. A thread that was never started takes forever. */
const scanMsMax = 30_000;

/** A body as received. */
export interface BodyToExamine {
  workspaceId: WorkspaceId;
  signal: Signal;
  encoding: OtlpEncoding;
  coding: ContentCoding;
  body: Buffer;
}

export interface ExaminedBody {
  inflatedBytes: number;
  scan: ScanResult;
}

export interface BodyExaminer {
  /**
   * Inflates and scans a body.
   * @throws MalformedError or TooLargeError when the body is refused
   * @throws RateLimitedError `workspace_busy`, or UnavailableError `server_busy`, when too many
   * wait
   */
  examine(received: BodyToExamine): Promise<ExaminedBody>;
  close(): Promise<void>;
}

/**
 * Inflates bodies and scans them for faults: small ones immediately, large ones in turn and in a
 * thread. So many small compression bombs sent together use the memory of two and do not block the
 * event loop. Turns are shared by all workspaces: one has at most one of the two and sixteen more
 * waiting.
 */
export function createBodyExaminer(limits: OtlpLimits): BodyExaminer {
  const pool = new Piscina<ScanTask, ScanOutcome>({
    filename: new URL(import.meta.url.endsWith('.ts') ? './scan-thread.ts' : './scan-thread.js', import.meta.url).href,
    name: 'scanInThread',
    minThreads: 0,
    maxThreads: largeBodiesMax,
    idleTimeout: 10_000,
  });
  // When a thread dies, its task rejects. Without this listener the `error` event would end the
  // process.
  pool.on('error', () => undefined);
  const turns = new FairLane({
    name: 'large OTLP bodies',
    capacity: largeBodiesMax,
    perKey: 1,
    waitingPerKey: 16,
    waitingMax: 32,
    waitMsMax: requestWaitMsMax,
  });

  /** Scans in this thread. Returns undefined for a body that may take long. */
  function scanInline(signal: Signal, encoding: OtlpEncoding, bytes: Buffer): ScanResult | undefined {
    if (bytes.length > inlineBytesMax[encoding]) return undefined;
    try {
      return scanBody(signal, encoding, bytes, { ...limits, stepElementsMax });
    } catch (error) {
      if (error instanceof LongStepError) return undefined;
      throw error;
    }
  }

  async function examineLarge({ signal, encoding, coding, body }: BodyToExamine): Promise<ExaminedBody> {
    const timeout = AbortSignal.timeout(scanMsMax);
    const outcome = await pool.run({ signal, encoding, coding, body, limits }, { signal: timeout }).catch((cause) => {
      if (!timeout.aborted) throw cause;
      throw new UnavailableError('server_busy', 'Examining the body took too long', { cause, retryAfterS: 1 });
    });
    if ('refused' in outcome) throw errorOf(outcome.refused);
    return outcome;
  }

  return {
    async examine(received) {
      const { workspaceId, signal, encoding, coding, body } = received;
      const small = await inflateSmall(coding, body, limits.inflatedBytesMax);
      // Many bodies may have been inflated in the same turn.
      const scan = small && (await inSharedTurn(() => scanInline(signal, encoding, small)));
      if (small !== undefined && scan !== undefined) return { inflatedBytes: small.length, scan };
      return turns.run(workspaceId, () => examineLarge(received));
    },
    close: () => pool.destroy(),
  };
}

/** Inflates a small body. Returns undefined for a body that is not small. */
async function inflateSmall(coding: ContentCoding, body: Buffer, bytesMax: number): Promise<Buffer | undefined> {
  if (coding === 'identity') return inflateBounded(coding, body, bytesMax);
  if (body.length > codedBytesMax) return undefined;
  if (bytesMax <= smallBytesMax) return inflateBounded(coding, body, bytesMax);
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
