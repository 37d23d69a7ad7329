import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { EngineError, parseEngineError } from './errors.ts';
import type { FromSession, Job, Outcome, ToSession } from './protocol.ts';

export interface RunOptions {
  /** Receives a part of the result. The engine continues after it has resolved. */
  onChunk: (bytes: Uint8Array) => Promise<void>;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  /** Requests the engine to stop the statement. It is called again until the statement has stopped. */
  kill: () => Promise<void>;
}

const KILL_EVERY_MS = 50;

/**
 * A limited number of session threads, which are started when needed. If all are busy, a statement
 * waits for its turn.
 */
export class SessionPool {
  readonly #enginePath: string;
  readonly #sessionsMax: number;
  readonly #idle: Worker[] = [];
  readonly #waiting: Array<(worker: Worker) => void> = [];
  #started = 0;

  constructor(enginePath: string, sessionsMax: number) {
    this.#enginePath = enginePath;
    this.#sessionsMax = sessionsMax;
  }

  /** Starts the first thread before the first statement. */
  async warmUp(): Promise<void> {
    this.#release(await this.#acquire(new AbortController().signal));
  }

  /** Runs one statement. @throws EngineError if the engine refuses or stops it */
  async run(job: Job, options: RunOptions): Promise<Outcome> {
    const worker = await this.#acquire(options.signal);
    try {
      return await runOn(worker, job, options);
    } finally {
      this.#release(worker);
    }
  }

  async #acquire(signal: AbortSignal): Promise<Worker> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#started < this.#sessionsMax) {
      this.#started += 1;
      return startWorker(this.#enginePath);
    }
    return new Promise((resolve, reject) => {
      const take = (worker: Worker) => {
        signal.removeEventListener('abort', giveUp);
        resolve(worker);
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(canceled());
      };
      if (signal.aborted) return reject(canceled());
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(take);
    });
  }

  #release(worker: Worker): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(worker);
    else next(worker);
  }
}

/** If a thread dies, the engine loses every connection. So an error of a thread ends the process. */
async function startWorker(enginePath: string): Promise<Worker> {
  const worker = new Worker(new URL('./session-worker.mjs', import.meta.url), { workerData: { enginePath } });
  worker.on('error', (error) => {
    throw error;
  });
  await once(worker, 'message');
  return worker;
}

async function runOn(worker: Worker, job: Job, options: RunOptions): Promise<Outcome> {
  const send = (message: ToSession) => worker.postMessage(message);
  const stopper = new Stopper(options.kill, () => send({ type: 'stop' }));
  const stop = () => stopper.start();
  let written = Promise.resolve();
  const ended = new Promise<Outcome>((resolve, reject) => {
    worker.on('message', (message: FromSession) => {
      if (message.type === 'error') reject(parseEngineError(message.message));
      if (message.type !== 'done' && message.type !== 'chunk') return;
      written = written.then(() => options.onChunk(message.bytes));
      if (message.type === 'done') return resolve(message.outcome);
      written = written.then(() => send({ type: 'next' }));
      written.catch(stop);
    });
    options.signal.addEventListener('abort', stop, { once: true });
    send({ type: 'run', job });
    if (options.signal.aborted) stop();
  });
  try {
    const outcome = await ended;
    await written;
    return outcome;
  } finally {
    stopper.end();
    options.signal.removeEventListener('abort', stop);
    worker.removeAllListeners('message');
  }
}

/**
 * Requests the engine to stop a statement until it has stopped. A statement cannot be killed while
 * it is being planned.
 */
class Stopper {
  readonly #kill: () => Promise<void>;
  readonly #tellSession: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(kill: () => Promise<void>, tellSession: () => void) {
    this.#kill = kill;
    this.#tellSession = tellSession;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    const kill = () => this.#kill().catch(() => undefined);
    this.#timer = setInterval(kill, KILL_EVERY_MS);
    this.#tellSession();
    void kill();
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

function canceled(): EngineError {
  return new EngineError(394, 'QUERY_WAS_CANCELLED', 'Query was canceled before it started');
}
