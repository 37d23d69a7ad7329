import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { type AppError, MalformedError, NotFoundError, TooLargeError, UnavailableError } from '../../lib/errors.ts';
import { answerPrompts, type SharedPrompts } from '../prompt-links/index.ts';
import type { Reader } from './read-lanes.ts';
import type { TraceReadInput, TraceReadName } from './trace-reads.ts';
import type { ThreadOutcome, ThreadTask } from './trace-thread.ts';

export interface TraceThreadsOptions {
  clickhouseUrl: string;
  cursorSecret: string;
  knownPrompts: SharedPrompts;
}

/**
 * A span part of 64 MiB, the largest that one request body can bring, needs about 600 MB while it
 * becomes JSON text.
 */
const heapMbMax = 1_024;
const runMsMax = 30_000;

/**
 * Worker threads for traces that would block the event loop of the API. They read ClickHouse
 * themselves and return bytes. All workspaces share them, behind the lane for large reads. A thread
 * ends when no caller waits for it or when it uses too much time or memory.
 */
export class TraceThreads {
  readonly #options: TraceThreadsOptions;
  readonly #pool: Piscina<ThreadTask, ThreadOutcome>;

  constructor(options: TraceThreadsOptions) {
    this.#options = options;
    const file = import.meta.url.endsWith('.ts') ? './trace-thread.ts' : './trace-thread.js';
    this.#pool = new Piscina<ThreadTask, ThreadOutcome>({
      filename: new URL(file, import.meta.url).href,
      name: 'readInThread',
      minThreads: 0,
      maxThreads: 2,
      idleTimeout: 30_000,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    });
    // When a thread dies, its task rejects. Without this listener the `error` event would end the
    // process.
    this.#pool.on('error', () => undefined);
  }

  /**
   * Runs a read in a worker thread and returns its JSON text as bytes.
   * @throws TooLargeError when the read needs too much memory
   * @throws UnavailableError when it takes over 30 s
   * @throws what the read throws, and the reason of the reader's signal
   */
  async run<Name extends TraceReadName>(
    name: Name,
    input: TraceReadInput<Name>,
    { workspaceId, signal }: Reader,
  ): Promise<Uint8Array> {
    const { clickhouseUrl, cursorSecret, knownPrompts } = this.#options;
    const { port1, port2 } = new MessageChannel();
    answerPrompts(port1, knownPrompts.of(workspaceId));
    const timeout = AbortSignal.timeout(runMsMax);
    const task: ThreadTask = { name, input, clickhouseUrl, cursorSecret, prompts: port2 };
    try {
      const outcome = await this.#pool.run(task, {
        transferList: [port2],
        signal: AbortSignal.any([signal, timeout]),
      });
      if (outcome instanceof Uint8Array) return outcome;
      throw toError(outcome.refused);
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, timeout);
    } finally {
      port1.close();
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

type Refusal = Extract<ThreadOutcome, { refused: unknown }>['refused'];

/** The kinds of errors that reads of traces throw. */
const makers: Partial<
  Record<AppError['kind'], (code: never, message: string, options: { retryAfterS?: number }) => AppError>
> = {
  malformed: (...given) => new MalformedError(...given),
  not_found: (...given) => new NotFoundError(...given),
  too_large: (...given) => new TooLargeError(...given),
  unavailable: (...given) => new UnavailableError(...given),
};

function toError({ kind, code, message, retryAfterS }: Refusal): Error {
  const make = makers[kind];
  if (make === undefined) return new Error(`${code}: ${message}`);
  return make(code as never, message, retryAfterS === undefined ? {} : { retryAfterS });
}

function failureOf(error: unknown, timeout: AbortSignal): unknown {
  if (timeout.aborted)
    return new UnavailableError(
      'query_timeout',
      'Reading the execution took more than 30 s. Request fewer spans or parts of it.',
    );
  const ranOutOfMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (ranOutOfMemory)
    return new TooLargeError(
      'result_too_large',
      'The response would need too much memory. Request fewer spans or parts of the execution.',
    );
  return error;
}
