import { Piscina } from 'piscina';
import { InvalidError, UnavailableError } from '../../../lib/errors.ts';
import { InvalidTemplateError, TemplateLimitError } from '../problems.ts';
import type { Outcome, ThreadCall, ThreadWork, WorkName } from './tasks.ts';
import { watchCall } from './watch-call.ts';

interface Lane {
  threadsMin: number;
  threadsMax: number;
  heapMbMax: number;
  idleMs: number;
}

/**
 * Counting must not wait behind a hostile template. Its large tables take most of a second to load, so they stay. Of the threads for
 * templates one is always there, started anew as soon as a template has ended it.
 */
const lanes = {
  templates: { threadsMin: 1, threadsMax: 2, heapMbMax: 96, idleMs: 30_000 },
  tokens: { threadsMin: 0, threadsMax: 1, heapMbMax: 512, idleMs: Number.POSITIVE_INFINITY },
} as const satisfies Record<string, Lane>;

const laneOf: Readonly<Record<WorkName, keyof typeof lanes>> = {
  parse: 'templates',
  render: 'templates',
  checkSchema: 'templates',
  validate: 'templates',
  countTokens: 'tokens',
};

/** What goes over a limit, in words. */
const doing: Readonly<Record<WorkName, string>> = {
  parse: 'Parsing the template',
  render: 'Rendering',
  checkSchema: 'Checking the input schema',
  validate: 'Checking the variables',
  countTokens: 'Counting tokens',
};

const queuedMax = 64;
/** For a thread that is being started, what it has to load, and the calls before in the queue. */
const waitMsMax = 15_000;
const defaultLimitMs = 300;

/**
 * Threads for what a template's author could make endless: a thread that takes too long, or too much memory, is ended and
 * replaced, and costs its own call only. Threads start with the first call, or before it with `warmUp`; `close` ends them all.
 */
export class TemplateThreads {
  readonly #pools = new Map<keyof typeof lanes, Piscina>();
  #closed = false;

  /** Throws TemplateLimitError after `limitMs` of running or without memory, UnavailableError when the queue is full. */
  async run<Name extends WorkName>(
    name: Name,
    task: ThreadWork[Name]['task'],
    limitMs = defaultLimitMs,
  ): Promise<ThreadWork[Name]['result']> {
    if (this.#closed) throw new UnavailableError('dependency_unavailable', 'The process is shutting down');
    const pool = this.#pool(laneOf[name]);
    if (pool.queueSize >= queuedMax) {
      throw new UnavailableError('dependency_unavailable', `${queuedMax} templates are waiting already`, {
        retryAfterS: 1,
      });
    }
    const started = new Int32Array(new SharedArrayBuffer(4));
    const controller = new AbortController();
    const watch = watchCall(started, { limitMs, waitMsMax }, controller);
    const call: ThreadCall<Name> = { name, task, started };
    try {
      const outcome: Outcome<ThreadWork[Name]['result']> = await pool.run(call, { signal: controller.signal });
      return resultOf(outcome);
    } catch (error) {
      throw failureOf(error, name, {
        aborted: controller.signal.aborted,
        wasStarted: Atomics.load(started, 0) !== 0,
        limitMs,
      });
    } finally {
      watch.stop();
    }
  }

  /** Starts a thread for templates, so that the first call does not wait for it. */
  warmUp(): void {
    this.#pool('templates');
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #pool(lane: keyof typeof lanes): Piscina {
    const known = this.#pools.get(lane);
    if (known !== undefined) return known;
    const { threadsMin, threadsMax, heapMbMax, idleMs } = lanes[lane];
    const file = import.meta.url.endsWith('.ts') ? './template-thread.ts' : './template-thread.js';
    const pool = new Piscina({
      filename: new URL(file, import.meta.url).href,
      name: 'runCall',
      minThreads: threadsMin,
      maxThreads: threadsMax,
      maxQueue: queuedMax,
      idleTimeout: idleMs,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: 16, stackSizeMb: 2 },
      // Nothing a template could get hold of.
      env: {},
    });
    // One that dies without a call harms nobody, but an error event that nobody hears would end the process.
    pool.on('error', () => undefined);
    this.#pools.set(lane, pool);
    return pool;
  }
}

function resultOf<Result>(outcome: Outcome<Result>): Result {
  if ('result' in outcome) return outcome.result;
  const { kind, code, message, problems, budget } = outcome.fault;
  if (problems !== undefined) throw new InvalidTemplateError(problems);
  if (budget !== undefined) throw new TemplateLimitError(message, budget);
  if (code === 'unknown_part') throw new InvalidError(code, message);
  throw new Error(`A template thread answered ${kind} ${code}: ${message}`);
}

interface CallEnd {
  aborted: boolean;
  wasStarted: boolean;
  limitMs: number;
}

function failureOf(error: unknown, name: WorkName, { aborted, wasStarted, limitMs }: CallEnd): unknown {
  if (aborted && !wasStarted) {
    return new UnavailableError('dependency_unavailable', `No template thread was free within ${waitMsMax} ms`, {
      retryAfterS: 1,
    });
  }
  if (aborted) return new TemplateLimitError(`${doing[name]} takes longer than ${limitMs} ms`, 'time');
  if (hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY')) {
    return new TemplateLimitError(`${doing[name]} needs more than ${lanes[laneOf[name]].heapMbMax} MB`, 'memory');
  }
  if (error instanceof RangeError) return new TemplateLimitError(`${doing[name]} nests too deeply`, 'nesting');
  return error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
