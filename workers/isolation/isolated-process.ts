import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';

export interface IsolatedTask {
  jobId: string;
  payload: IngestBodyPayload;
}

/**
 * The outcome of a body that was processed alone. `waiting` means that a dependency was
 * unavailable, which is not a fault of the body.
 */
export type IsolatedOutcome =
  | { outcome: 'stored' }
  | { outcome: 'hopeless'; reason: string }
  | { outcome: 'waiting'; reason: string }
  | { outcome: 'failed'; reason: string }
  | { outcome: 'crashed'; reason: string };

const stopping: IsolatedOutcome = { outcome: 'waiting', reason: 'The worker is stopping' };
const notStarted = ({ message }: Error): IsolatedOutcome => ({
  outcome: 'waiting',
  reason: `No process could be started: ${message}`,
});
const entry = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './isolated-main.ts' : './isolated-main.js', import.meta.url),
);
/**
 * Longer than a child needs to start, to stop waiting for a dependency, and to finish an insert.
 */
const answerMsMax = 60_000;

/**
 * A child process that processes one suspect body at a time, so that a crash affects no other body.
 * A new child is started after a crash.
 */
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
   * Processes one body. Only one call at a time. Never throws. A child that dies, or gives no
   * answer within `answerMsMax`, results in `crashed`. One that cannot be started results in `waiting`. The child's own watchdog kills it earlier
   * when its event loop is blocked.
   */
  run(task: IsolatedTask): Promise<IsolatedOutcome> {
    if (this.#closed) return Promise.resolve(stopping);
    let child: ChildProcess;
    try {
      child = this.#ensureChild();
    } catch (error) {
      return Promise.resolve(notStarted(error as Error));
    }
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
        child.off('error', onError);
        if (outcome.outcome === 'waiting') this.#drop(child);
        resolve(outcome);
      };
      const onMessage = (message: unknown) => finish(message as IsolatedOutcome);
      const onExit = (code: number | null, signal: string | null) => {
        const how = silent ? `gave no result within ${this.#answerMsMax} ms` : `ended with ${signal ?? `code ${code}`}`;
        finish(this.#closed ? stopping : { outcome: 'crashed', reason: `the process ${how}` });
      };
      const onError = (error: Error) => {
        if (child.pid === undefined) finish(notStarted(error));
      };
      child.on('message', onMessage);
      child.on('exit', onExit);
      child.on('error', onError);
      child.send(task, (error) => error && child.kill('SIGKILL'));
    });
  }

  /**
   * Ends the child. The outcome of its body is `waiting`, so that the body is tried again
   * elsewhere.
   */
  close(): void {
    this.#closed = true;
    this.#child?.kill('SIGKILL');
  }

  /** Ends a child that has stopped waiting for a dependency, because it cannot be used again. */
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
    // Without a listener, a process that cannot be started or signalled would end this one.
    child.on('error', () => undefined);
    this.#child = child;
    return child;
  }
}
