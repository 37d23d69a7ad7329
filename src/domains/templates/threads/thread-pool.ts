import { Piscina } from 'piscina';
import { InvalidError, UnavailableError } from '../../../lib/errors.ts';
import { watchThread } from '../../../runtime/watch-thread.ts';
import { InvalidTemplateError, TemplateLimitError } from '../problems.ts';
import type { Outcome, ThreadCall, ThreadWork, WorkName } from './tasks.ts';

export interface PoolOptions {
  threadsMin: number;
  threadsMax: number;
  heapMbMax: number;
  /** A thread above `threadsMin` ends after this long without work. */
  idleMs: number;
  /** Whether event loops and other threads go first. The work may take longer, but not use more. */
  isBackground: boolean;
}

/** Names of the tasks in error messages. */
const doing: Readonly<Record<WorkName, string>> = {
  parse: 'Parsing the template',
  render: 'Rendering',
  checkSchema: 'Checking the input schema',
  validate: 'Checking the variables',
  diff: 'Comparing the versions',
  checkMetrics: 'Checking the metrics',
  score: 'Scoring an output',
  countTokens: 'Counting tokens',
};

/** Work ends after so many times its limit, even if its thread got little processor time. */
const foregroundOvertime = 2;
const backgroundOvertime = 6;
/** Milliseconds for starting a thread and loading what it needs. */
const startMsMax = 15_000;

/**
 * Pool of threads for work that a template's author could make endless. A thread that takes too
 * much time or memory is terminated and replaced; only its own call fails. Nothing queues here: the
 * lane in front shares the threads.
 */
export class ThreadPool {
  readonly #options: PoolOptions;
  #pool: Piscina | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * Runs a task in a thread.
   * @throws TemplateLimitError after `limitMs` of running or when memory is exhausted
   * @throws UnavailableError when no thread starts
   */
  async run<Name extends WorkName>(
    name: Name,
    task: ThreadWork[Name]['task'],
    limitMs: number,
  ): Promise<ThreadWork[Name]['result']> {
    const pool = this.start();
    const begun = new Int32Array(new SharedArrayBuffer(4));
    const overtime = this.#options.isBackground ? backgroundOvertime : foregroundOvertime;
    const watch = watchThread(begun, { limitMs, passedMsMax: overtime * limitMs, waitMsMax: startMsMax });
    const call: ThreadCall<Name> = { name, task, begun };
    try {
      const outcome: Outcome<ThreadWork[Name]['result']> = await pool.run(call, { signal: watch.signal });
      return resultOf(outcome);
    } catch (error) {
      const { heapMbMax } = this.#options;
      const wasStarted = watch.hasBegun();
      throw failureOf(error, name, { aborted: watch.signal.aborted, wasStarted, limitMs, heapMbMax });
    } finally {
      watch.stop();
    }
  }

  /** Starts the permanent threads, so that the first call does not wait for one. */
  start(): Piscina {
    if (this.#pool !== undefined) return this.#pool;
    const { threadsMin, threadsMax, heapMbMax, idleMs, isBackground } = this.#options;
    const file = import.meta.url.endsWith('.ts') ? './template-thread.ts' : './template-thread.js';
    const pool = new Piscina({
      filename: new URL(file, import.meta.url).href,
      name: 'runCall',
      minThreads: threadsMin,
      maxThreads: threadsMax,
      idleTimeout: idleMs,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: 16, stackSizeMb: 2 },
      // Empty, so that a template cannot read the environment of the process.
      env: {},
      workerData: { isBackground },
    });
    // A thread that dies without a call affects no one, but an unhandled error event would end the
    // process.
    pool.on('error', () => undefined);
    this.#pool = pool;
    return pool;
  }

  async close(): Promise<void> {
    await this.#pool?.destroy();
  }
}

function resultOf<Result>(outcome: Outcome<Result>): Result {
  if ('result' in outcome) return outcome.result;
  const { kind, code, message, problems, budget } = outcome.fault;
  if (problems !== undefined) throw new InvalidTemplateError(problems);
  if (budget !== undefined) throw new TemplateLimitError(message, budget);
  if (code === 'unknown_part') throw new InvalidError(code, message);
  throw new Error(`A template thread responded with ${kind} ${code}: ${message}`);
}

interface CallEnd {
  aborted: boolean;
  wasStarted: boolean;
  limitMs: number;
  heapMbMax: number;
}

function failureOf(error: unknown, name: WorkName, { aborted, wasStarted, limitMs, heapMbMax }: CallEnd): unknown {
  if (aborted && !wasStarted) {
    return new UnavailableError('dependency_unavailable', `No template thread started within ${startMsMax} ms`, {
      retryAfterS: 1,
    });
  }
  if (aborted) return new TemplateLimitError(`${doing[name]} takes longer than ${limitMs} ms`, 'time');
  if (hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY')) {
    return new TemplateLimitError(`${doing[name]} needs more than ${heapMbMax} MB`, 'memory');
  }
  if (error instanceof RangeError) return new TemplateLimitError(`${doing[name]} exceeds the nesting limit`, 'nesting');
  return error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
