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

const timeoutMs = 60_000;
const entry = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './isolated-main.ts' : './isolated-main.js', import.meta.url),
);

/** A child process that works on one suspect body at a time, so that a crash costs nobody else. Started anew after a crash. */
export class IsolatedProcess {
  #child: ChildProcess | undefined;

  /** Never throws: a child that dies or hangs for a minute is the outcome `crashed`. One call at a time. */
  run(task: IsolatedTask): Promise<IsolatedOutcome> {
    const child = this.#ensureChild();
    return new Promise((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
      const finish = (outcome: IsolatedOutcome) => {
        clearTimeout(timer);
        child.off('message', onMessage);
        child.off('exit', onExit);
        resolve(outcome);
      };
      const onMessage = (message: unknown) => finish(message as IsolatedOutcome);
      const onExit = (code: number | null, signal: string | null) => {
        this.#child = undefined;
        finish({ outcome: 'crashed', reason: `the process ended with ${signal ?? `code ${code}`}` });
      };
      child.on('message', onMessage);
      child.on('exit', onExit);
      child.send(task, (error) => error && child.kill('SIGKILL'));
    });
  }

  close(): void {
    this.#child?.kill('SIGTERM');
  }

  #ensureChild(): ChildProcess {
    this.#child ??= fork(entry, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    return this.#child;
  }
}
