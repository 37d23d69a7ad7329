import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';

export interface IsolatedTask {
  jobId: string;
  payload: IngestBodyPayload;
}

/** What became of a body that was worked on alone. */
export type IsolatedOutcome =
  | { outcome: 'stored' }
  | { outcome: 'hopeless'; reason: string }
  | { outcome: 'failed'; reason: string }
  | { outcome: 'crashed'; reason: string };

const stopping: IsolatedOutcome = { outcome: 'failed', reason: 'The worker is stopping' };
const entry = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './isolated-main.ts' : './isolated-main.js', import.meta.url),
);

/** A child process that works on one suspect body at a time, so that a crash costs nobody else. Started anew after a crash. */
export class IsolatedProcess {
  #child: ChildProcess | undefined;
  #closed = false;

  /**
   * Never throws: a child that dies is the outcome `crashed`. One that is stuck is killed by its own watchdog; one that waits for
   * an engine, however long, is not at fault. One call at a time.
   */
  run(task: IsolatedTask): Promise<IsolatedOutcome> {
    if (this.#closed) return Promise.resolve(stopping);
    const child = this.#ensureChild();
    return new Promise((resolve) => {
      const finish = (outcome: IsolatedOutcome) => {
        child.off('message', onMessage);
        child.off('exit', onExit);
        resolve(outcome);
      };
      const onMessage = (message: unknown) => finish(message as IsolatedOutcome);
      const onExit = (code: number | null, signal: string | null) => {
        finish(
          this.#closed
            ? stopping
            : { outcome: 'crashed', reason: `the process ended with ${signal ?? `code ${code}`}` },
        );
      };
      child.on('message', onMessage);
      child.on('exit', onExit);
      child.send(task, (error) => error && child.kill('SIGKILL'));
    });
  }

  /** Ends the child; what it worked on is `failed`, so that it is tried again elsewhere. */
  close(): void {
    this.#closed = true;
    this.#child?.kill('SIGKILL');
  }

  #ensureChild(): ChildProcess {
    if (this.#child !== undefined) return this.#child;
    const child = fork(entry, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    this.#child = child;
    return child;
  }
}
