import { Piscina } from 'piscina';
import { InvalidError, UnavailableError } from '../../../lib/errors.ts';
import { InvalidTemplateError, TemplateLimitError } from '../problems.ts';
import type { Outcome, ThreadCall, ThreadWork, WorkName } from './tasks.ts';

interface Lane {
  threadsMax: number;
  heapMbMax: number;
  idleMs: number;
}

/** Counting must not wait behind a hostile template. Its large tables take most of a second to load, so they stay. */
const lanes = {
  templates: { threadsMax: 2, heapMbMax: 96, idleMs: 30_000 },
  tokens: { threadsMax: 1, heapMbMax: 512, idleMs: Number.POSITIVE_INFINITY },
} as const satisfies Record<string, Lane>;

const laneOf: Readonly<Record<WorkName, keyof typeof lanes>> = {
  parse: 'templates',
  render: 'templates',
  checkSchema: 'templates',
  validate: 'templates',
  countTokens: 'tokens',
};

const queuedMax = 64;
/** For a thread that is being started, what it has to load, and the calls before in the queue. */
const waitMsMax = 15_000;
const defaultLimitMs = 300;

/**
 * Threads for what a template's author could make endless: a thread that takes too long, or too much memory, is ended and
 * replaced, and costs its own call only. Threads start with the first call; `close` ends them all.
 */
export class TemplateThreads {
  readonly #madeMs = Date.now();
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
    const timer = this.#watch(started, limitMs, controller);
    const call: ThreadCall<Name> = { name, task, started, poolMadeMs: this.#madeMs };
    try {
      const outcome: Outcome<ThreadWork[Name]['result']> = await pool.run(call, { signal: controller.signal });
      return resultOf(outcome);
    } catch (error) {
      throw failureOf(error, controller.signal.aborted, Atomics.load(started, 0) !== 0, limitMs);
    } finally {
      timer.stop();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #pool(lane: keyof typeof lanes): Piscina {
    const known = this.#pools.get(lane);
    if (known !== undefined) return known;
    const { threadsMax, heapMbMax, idleMs } = lanes[lane];
    const file = import.meta.url.endsWith('.ts') ? './template-thread.ts' : './template-thread.js';
    const pool = new Piscina({
      filename: new URL(file, import.meta.url).href,
      name: 'runCall',
      minThreads: 0,
      maxThreads: threadsMax,
      maxQueue: queuedMax,
      idleTimeout: idleMs,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: 16, stackSizeMb: 2 },
      // Nothing a template could get hold of.
      env: {},
    });
    this.#pools.set(lane, pool);
    return pool;
  }

  /** Gives up `limitMs` after the thread took the call up, however long it waited before (within reason). */
  #watch(started: Int32Array, limitMs: number, controller: AbortController): { stop: () => void } {
    const queuedAtMs = Date.now();
    const look = () => {
      const startedMs = Atomics.load(started, 0);
      const [sinceMs, allowedMs] =
        startedMs === 0 ? [Date.now() - queuedAtMs, waitMsMax] : [Date.now() - this.#madeMs - startedMs, limitMs];
      if (sinceMs >= allowedMs) controller.abort();
      else timer = setTimeout(look, Math.min(limitMs, allowedMs - sinceMs));
    };
    let timer = setTimeout(look, limitMs);
    return { stop: () => clearTimeout(timer) };
  }
}

function resultOf<Result>(outcome: Outcome<Result>): Result {
  if ('result' in outcome) return outcome.result;
  const { kind, code, message, problems } = outcome.fault;
  if (problems !== undefined) throw new InvalidTemplateError(problems);
  if (code === 'template_limit') throw new TemplateLimitError(message);
  if (code === 'unknown_part') throw new InvalidError(code, message);
  throw new Error(`A template thread answered ${kind} ${code}: ${message}`);
}

function failureOf(error: unknown, aborted: boolean, wasStarted: boolean, limitMs: number): unknown {
  if (aborted && !wasStarted) {
    return new UnavailableError('dependency_unavailable', `No template thread was free within ${waitMsMax} ms`, {
      retryAfterS: 1,
    });
  }
  if (aborted) return new TemplateLimitError(`The template takes longer than ${limitMs} ms`);
  if (hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY')) return new TemplateLimitError('The template needs too much memory');
  if (error instanceof RangeError) return new TemplateLimitError('The template nests too deeply');
  return error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
