import { deserialize } from 'node:v8';
import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { UnavailableError } from '../../../lib/errors.ts';
import { FairLane } from '../../../lib/fair-lane.ts';
import { mapInSlices } from '../../../lib/pace.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import { watchThread } from '../../../runtime/watch-thread.ts';
import type { PriceOverrides } from '../../pricing/index.ts';
import { answerPrompts, type SharedPrompts } from '../../prompt-links/index.ts';
import type { LightSpan } from '../../spans/index.ts';
import { BadBodyError } from './body-errors.ts';
import type { EncodedBody } from './encode-body.ts';
import type { EncodedInThread, EncodeOutcome, EncodeTask, EncodeThreadData } from './encode-thread.ts';

const idleMs = 60_000;
const threadsMax = 2;
/** A thread loads in a second or two. A machine without memory or processes starts none. */
const startMsMax = 30_000;

export interface EncodeThreadsOptions {
  /** CPU time of a thread for one body. The worst body within the limits takes about 3 s. */
  workMsMax: number;
  /** Time that may pass. Threads have a low priority: on a busy machine a body takes several times its CPU time. */
  passedMsMax: number;
  /** Heap of a thread. Strings and buffers outside the heap are bounded by the size of a body. */
  heapMibMax: number;
}

export interface EncodeThreadsDeps extends EncodeThreadData {
  limits: OtlpLimits;
  prompts: SharedPrompts;
  /** Returns whether a project may have log records. */
  mayHaveRecords: (projectId: string) => boolean;
  keepOtherLogs: boolean;
}

/** Measured with the worst bodies within the limits: they use a third of either value. */
const defaults: EncodeThreadsOptions = { workMsMax: 10_000, passedMsMax: 40_000, heapMibMax: 1_536 };

export interface EncodeThreads {
  /**
   * Turns a body into rows in a thread.
   * @throws BadBodyError when the body cannot become rows, or not within the memory of a thread
   * @throws Error when that takes too much CPU time, or fails for a reason that is not known to be the body
   * @throws UnavailableError when no thread can begin, or the machine is too busy
   */
  encode(payload: IngestBodyPayload, body: Buffer, overrides: PriceOverrides): Promise<EncodedBody>;
  close(): Promise<void>;
}

/**
 * Creates threads that turn large bodies into rows. A thread that uses too much time or memory is
 * ended, its body fails, and another thread takes its place.
 */
export function createEncodeThreads(
  deps: EncodeThreadsDeps,
  options: Partial<EncodeThreadsOptions> = {},
): EncodeThreads {
  const { workMsMax, passedMsMax, heapMibMax } = { ...defaults, ...options };
  const file = import.meta.url.endsWith('.ts') ? './encode-thread.ts' : './encode-thread.js';
  const pool = new Piscina<EncodeTask, EncodeOutcome>({
    filename: new URL(file, import.meta.url).href,
    name: 'encodeInThread',
    minThreads: 0,
    maxThreads: threadsMax,
    workerData: { clickhouseUrl: deps.clickhouseUrl } satisfies EncodeThreadData,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: heapMibMax },
  });
  // When a thread dies, its task rejects. Without this listener the `error` event would end the
  // process.
  pool.on('error', () => undefined);
  // Shared by all workspaces: one workspace has at most one of the two threads. Waiting bodies are
  // served in turn between workspaces.
  const lane = new FairLane({
    name: 'large bodies',
    capacity: threadsMax,
    perKey: 1,
    waitingPerKey: Number.POSITIVE_INFINITY,
    waitingMax: Number.POSITIVE_INFINITY,
  });
  let closed = false;

  async function run(payload: IngestBodyPayload, body: Buffer, overrides: PriceOverrides): Promise<EncodedBody> {
    const { port1, port2 } = new MessageChannel();
    answerPrompts(port1, deps.prompts.of(payload.workspaceId));
    const begun = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const watch = watchThread(begun, { limitMs: workMsMax, passedMsMax, waitMsMax: startMsMax });
    const { limits, keepOtherLogs } = deps;
    const mayHaveRecords = deps.mayHaveRecords(payload.projectId);
    const task = { payload, body, overrides, limits, keepOtherLogs, mayHaveRecords, prompts: port2, begun };
    try {
      const outcome = await pool.run(task, { transferList: [port2], signal: watch.signal });
      if ('bad' in outcome) throw new BadBodyError(outcome.bad);
      return await asBody(outcome);
    } catch (error) {
      if (error instanceof BadBodyError) throw error;
      if (closed) throw new UnavailableError('dependency_unavailable', 'The worker is stopping', { cause: error });
      if (!watch.hasBegun()) {
        // Otherwise a later thread would begin it.
        watch.abort();
        throw new UnavailableError(
          'dependency_unavailable',
          `No thread began to work on the body: ${messageOf(error)}`,
          {
            cause: error,
          },
        );
      }
      if (watch.hasWorked()) throw new Error(`Working on the body took more than ${workMsMax} ms`, { cause: error });
      if (watch.signal.aborted) {
        const reason = `The machine is busy: a body was not worked on within ${passedMsMax} ms`;
        throw new UnavailableError('dependency_unavailable', reason, { cause: error });
      }
      const ended = `The thread that worked on the body ended: ${messageOf(error)}`;
      throw isOutOfMemory(error) ? new BadBodyError(ended, error) : new Error(ended, { cause: error });
    } finally {
      watch.stop();
      port1.close();
    }
  }

  return {
    encode: (payload, body, overrides) => lane.run(payload.workspaceId, () => run(payload, body, overrides)),
    async close() {
      closed = true;
      await pool.destroy();
    },
  };
}

/**
 * Restores a body. A Buffer arrives from a thread as a plain Uint8Array, and the light spans of
 * many traces arrive in chunks.
 */
async function asBody({ lightChunks, ...encoded }: EncodedInThread): Promise<EncodedBody> {
  const { bytes } = encoded.rows;
  const rows = { ...encoded.rows, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) };
  if (lightChunks.length === 0) return { ...encoded, rows };
  const lightSpans = await mapInSlices(lightChunks, (chunk) => deserialize(chunk) as LightSpan[]);
  return { ...encoded, rows, lightSpans: lightSpans.flat() };
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}
