import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Child, describeExit, type ProcessExit, spawnChild } from '../../dev/process/child.ts';
import { lastLines } from '../../dev/process/log-file.ts';
import type { Reaper } from '../../dev/process/reaper.ts';
import { until } from './until.ts';

export interface AppOptions {
  name: 'api' | 'worker';
  env: NodeJS.ProcessEnv;
  logFile: string;
  reaper: Reaper;
  /** Files that the process loads first. */
  preload?: readonly string[];
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const entries = { api: 'src/main.ts', worker: 'workers/main.ts' } as const;
/** The line that a process logs when it is ready. */
const readyLines = { api: '"msg":"listening"', worker: '"msg":"working"' } as const;
const readyTimeoutMs = 60_000;
const terminateTimeoutMs = 60_000;

/** The API or the worker in a separate process, which can be killed and started again. */
export class AppProcess {
  readonly #options: AppOptions;
  #preload: readonly string[];
  #child: Child;
  #starting: Promise<unknown> | undefined;
  #keptAlive = false;

  private constructor(options: AppOptions, child: Child) {
    this.#options = options;
    this.#preload = options.preload ?? [];
    this.#child = child;
  }

  static async start(options: AppOptions): Promise<AppProcess> {
    return new AppProcess(options, await launch(options, options.preload ?? []));
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Resolves when the running process has ended. */
  get exited(): Promise<ProcessExit> {
    return this.#child.exited;
  }

  /** Starts the process again after it has ended, from now on with `preload` if given. Resolves when it is ready. */
  async start(preload: readonly string[] = this.#preload): Promise<void> {
    this.#preload = preload;
    const started = launch(this.#options, preload);
    this.#starting = started.catch(() => undefined);
    this.#child = await started;
  }

  async kill(): Promise<void> {
    await this.#starting; // A process that is being started would run longer than the test.
    await this.#child.stop('SIGKILL', terminateTimeoutMs);
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  /** Sends SIGTERM. Resolves to how the process ended and after what time. */
  async terminate(): Promise<ProcessExit & { tookMs: number }> {
    const startedAtMs = Date.now();
    await this.#child.stop('SIGTERM', terminateTimeoutMs);
    return { ...(await this.exited), tookMs: Date.now() - startedAtMs };
  }

  /**
   * Starts the process again whenever it ends, like `npm run up`. The returned function stops this
   * and returns the number of ends.
   */
  keepAlive(): () => number {
    let deaths = 0;
    this.#keptAlive = true;
    const revive = async () => {
      for (;;) {
        await this.exited;
        if (!this.#keptAlive) return;
        deaths++;
        await this.start().catch(() => undefined); // It ended during the start, so it is started again.
      }
    };
    void revive();
    return () => {
      this.#keptAlive = false;
      return deaths;
    };
  }

  /** Returns everything that it has logged. */
  log(): string {
    return readFileSync(this.#options.logFile, 'utf8');
  }

  /** Returns the last lines with a problem. */
  logTail(lines: number): string {
    const told = readFileSync(this.#options.logFile, 'utf8').split('\n');
    const notable = told.filter((line) => line !== '' && !line.startsWith('{"level":30'));
    return [`--- ${this.#options.name}`, ...notable.slice(-lines).map((line) => line.slice(0, 400))].join('\n');
  }
}

async function launch(options: AppOptions, preload: readonly string[]): Promise<Child> {
  const { name, env, logFile, reaper } = options;
  const imports = ['tsx', ...preload].flatMap((file) => ['--import', file]);
  const alreadyLogged = existsSync(logFile) ? readFileSync(logFile, 'utf8').length : 0;
  const child = await spawnChild({
    command: process.execPath,
    args: [...imports, entries[name]],
    cwd: root,
    env,
    logFile,
  });
  reaper.watch(child);
  let ended: string | undefined;
  void child.exited.then((exit) => {
    ended = describeExit(exit);
  });
  await until(`${name} works`, readyTimeoutMs, () => {
    if (ended !== undefined) return true;
    return readFileSync(logFile, 'utf8').slice(alreadyLogged).includes(readyLines[name]);
  });
  if (ended !== undefined) throw new Error(`${name} ended with ${ended}:\n${lastLines(logFile, 10)}`);
  return child;
}
