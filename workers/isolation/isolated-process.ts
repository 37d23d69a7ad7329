import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';

export interface IsolatedTask {
  jobId: string;
  payload: IngestBodyPayload;
}

/** What became of a body that was worked on alone; `waiting` for an engine is nobody's fault. */
export type IsolatedOutcome =
  | { outcome: 'stored' }
  | { outcome: 'hopeless'; reason: string }
  | { outcome: 'waiting'; reason: string }
  | { outcome: 'failed'; reason: string }
  | { outcome: 'crashed'; reason: string };

const stopping: IsolatedOutcome = { outcome: 'waiting', reason: 'The worker is stopping' };
const entry = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './isolated-main.ts' : './isolated-main.js', import.meta.url),
);
/** Longer than a child takes to start, to lose its patience with an engine, and to await an insert. */
const answerMsMax = 60_000;

/** A child process that works on one suspect body at a time, so that a crash costs nobody else. Started anew after a crash. */
export class IsolatedProcess {
  readonly #entry: string;
  readonly #answerMsMax: number;
  #child: ChildProcess | undefined;
  #closed = false;

  constructor(options: { entry?: string; answerMsMax?: number } = {}) {
    this.#entry = options.entry ?? entry;
    this.#answerMsMax = options.answerMsMax ?? answerMsMax;
  }

  /**
   * Never throws: a child that dies is the outcome `crashed`, and so is one that gives no answer within `answerMsMax`. One whose event
   * loop is stuck is killed earlier, by its own watchdog. One call at a time.
   */
  run(task: IsolatedTask): Promise<IsolatedOutcome> {
    if (this.#closed) return Promise.resolve(stopping);
    const child = this.#ensureChild();
    return new Promise((resolve) => {
      let silent = false;
      const patience = setTimeout(() => {
        silent = true;
        child.kill('SIGKILL');
      }, this.#answerMsMax);
      const finish = (outcome: IsolatedOutcome) => {
        clearTimeout(patience);
        child.off('message', onMessage);
        child.off('exit', onExit);
        if (outcome.outcome === 'waiting') this.#drop(child);
        resolve(outcome);
      };
      const onMessage = (message: unknown) => finish(message as IsolatedOutcome);
      const onExit = (code: number | null, signal: string | null) => {
        const how = silent ? `gave no answer within ${this.#answerMsMax} ms` : `ended with ${signal ?? `code ${code}`}`;
        finish(this.#closed ? stopping : { outcome: 'crashed', reason: `the process ${how}` });
      };
      child.on('message', onMessage);
      child.on('exit', onExit);
      child.send(task, (error) => error && child.kill('SIGKILL'));
    });
  }

  /** Ends the child; what it worked on is `waiting`, so that it is tried again elsewhere. */
  close(): void {
    this.#closed = true;
    this.#child?.kill('SIGKILL');
  }

  /** A child that has given up waiting for an engine is of no use any more. */
  #drop(child: ChildProcess): void {
    if (this.#child === child) this.#child = undefined;
    child.kill('SIGKILL');
  }

  #ensureChild(): ChildProcess {
    if (this.#child !== undefined) return this.#child;
    const child = fork(this.#entry, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    this.#child = child;
    return child;
  }
}
