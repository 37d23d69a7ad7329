import { Piscina } from 'piscina';
import { TooLargeError, UnavailableError } from '../../../lib/errors.ts';
import { FairLane } from '../../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../../lib/fair-lane-options.ts';
import { countHeavy, inHeavyTurn, owesTime } from '../../../lib/heavy-turns.ts';
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
/** Bodies of workspaces that owe time, of which one is scanned at a time while the others are inflated. */
const owingBodiesMax = 4;
/** The worst body within the limits takes about 3 s. A thread that was never started takes forever. */
const scanMsMax = 30_000;
/**
 * Bodies of all workspaces that wait for one of the lanes here. Many workspaces must send as many as they may for so many:
 * if a few could fill a lane, the bodies of every other workspace would be refused. A waiting body holds only its bytes as
 * they were sent, which `BodyIntake` bounds.
 */
const waitingMax = 4_096;

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

/** Why a body is not examined at once: it may take long, or its workspace owes time of the event loop. */
type Postponed = 'long' | 'owes';

/** Examines a body when its turn comes. Throws as `BodyExaminer.examine`, or when too many wait. */
export type ExamineInTurn = () => Promise<ExaminedBody>;

export interface BodyExaminer {
  /**
   * Inflates and scans a small body. For a large one, and while the workspace owes time of the event loop, it returns a
   * function that does so in turn with other workspaces. Call it without a place of `Admission`: otherwise the bodies of
   * a few workspaces would hold all places while they wait.
   * @throws MalformedError or TooLargeError when the body is refused
   */
  examine(received: BodyToExamine): Promise<ExaminedBody | ExamineInTurn>;
  close(): Promise<void>;
}

/**
 * Inflates bodies and scans them for faults: small ones immediately, in a turn of the event loop that has time. A workspace
 * whose last bodies took long has one scanned at a time, and shares a third of the event loop with other large work. Large
 * bodies are examined in a thread, in turn. So many small compression bombs sent together use the memory of two and do not
 * block the event loop: a workspace has at most one of the two.
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
  const large = new FairLane({
    ...{ name: 'large OTLP bodies', capacity: largeBodiesMax, perKey: 1 },
    ...{ waitingPerKey: 16, waitingMax, waitMsMax: requestWaitMsMax },
  });
  const owing = new FairLane({
    ...{ name: 'OTLP bodies that take long', capacity: owingBodiesMax, perKey: 1 },
    ...{ waitingPerKey: 256, waitingMax, waitMsMax: requestWaitMsMax },
  });

  /** Scans in this thread, unless the body may take long. */
  function scanInline({ signal, encoding }: BodyToExamine, bytes: Buffer): ScanResult | 'long' {
    if (bytes.length > inlineBytesMax[encoding]) return 'long';
    try {
      return scanBody(signal, encoding, bytes, { ...limits, stepElementsMax });
    } catch (error) {
      if (error instanceof LongStepError) return 'long';
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

  const inTurn = {
    long: (received: BodyToExamine) => large.run(received.workspaceId, () => examineLarge(received)),
    async owes(received: BodyToExamine): Promise<ExaminedBody> {
      const { workspaceId } = received;
      const examined = await owing.run(workspaceId, async () => {
        const small = await inHeavyTurn(workspaceId, () => inflateSmall(received, limits.inflatedBytesMax));
        if (small === undefined) return undefined;
        const scan = await inHeavyTurn(workspaceId, () => scanInline(received, small));
        return scan === 'long' ? undefined : { inflatedBytes: small.length, scan };
      });
      return examined ?? inTurn.long(received);
    },
  } as const satisfies Record<Postponed, (received: BodyToExamine) => Promise<ExaminedBody>>;

  return {
    async examine(received) {
      const { workspaceId } = received;
      if (owesTime(workspaceId)) return () => inTurn.owes(received);
      const small = await countHeavy(workspaceId, () => inflateSmall(received, limits.inflatedBytesMax));
      if (small === undefined) return () => inTurn.long(received);
      // Many bodies may have been inflated in the same turn, also of this workspace.
      const scan = await inSharedTurn(workspaceId, () =>
        owesTime(workspaceId) ? 'owes' : countHeavy(workspaceId, () => scanInline(received, small)),
      );
      return typeof scan === 'string' ? () => inTurn[scan](received) : { inflatedBytes: small.length, scan };
    },
    close: () => pool.destroy(),
  };
}

/** Inflates a small body, the smallest ones before it returns. Resolves to undefined for a body that is not small. */
function inflateSmall({ coding, body }: BodyToExamine, bytesMax: number): Promise<Buffer | undefined> {
  if (coding === 'identity') return inflateBounded(coding, body, bytesMax);
  if (body.length > codedBytesMax) return Promise.resolve(undefined);
  if (bytesMax <= smallBytesMax) return inflateBounded(coding, body, bytesMax);
  return inflateBounded(coding, body, smallBytesMax).catch((error: unknown) => {
    if (error instanceof TooLargeError) return undefined;
    throw error;
  });
}

function errorOf({ kind, code, message }: RefusedBody): Error {
  return new bodyFaults[kind](code, message);
}
