import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startClickHouse } from './clickhouse/start.ts';
import { enginePassword } from './engine-password.ts';
import { freePort } from './ports.ts';
import { startPostgres } from './postgres.ts';
import type { EngineOptions, EngineProcess, ProcessExit, RunningProcess } from './process/child.ts';
import { startReaper } from './process/reaper.ts';
import { startRedis } from './redis.ts';

export type EngineName = 'postgres' | 'redis' | 'clickhouse';

export interface StartOptions extends EngineOptions {
  /** False where the data is thrown away: Postgres then works without fsync. */
  durable?: boolean | undefined;
}

const STARTERS: Readonly<Record<EngineName, (options: StartOptions) => Promise<EngineProcess>>> = {
  postgres: startPostgres,
  redis: startRedis,
  async clickhouse({ dataDir, port, logFile, onSpawn }) {
    const password = enginePassword(dataDir);
    const started = await startClickHouse({
      ...{ dataDir, password, port: port ?? (await freePort()) },
      ...(logFile && { logFile }),
    });
    onSpawn?.(started);
    return started;
  },
};

/** An engine that can be stopped, killed and started again on the same port and data; its `url` stays the same. */
export class Engine {
  readonly name: EngineName;
  readonly #options: StartOptions;
  #process: EngineProcess;

  private constructor(name: EngineName, options: StartOptions, started: EngineProcess) {
    this.name = name;
    this.#options = options;
    this.#process = started;
  }

  static async start(name: EngineName, options: StartOptions): Promise<Engine> {
    return new Engine(name, options, await STARTERS[name](options));
  }

  get url(): string {
    return this.#process.url;
  }
  get port(): number {
    return this.#process.port;
  }
  get version(): string | undefined {
    return this.#process.version;
  }
  get pid(): number {
    return this.#process.pid;
  }
  /** Resolves when the process that runs now has ended. */
  get exited(): Promise<ProcessExit> {
    return this.#process.exited;
  }

  /** Starts the engine again after `stop`, `kill` or a crash. */
  async start(): Promise<void> {
    this.#process = await STARTERS[this.name]({ ...this.#options, port: this.port });
  }

  /** An orderly end; does nothing when the engine has ended already. */
  async stop(): Promise<void> {
    await this.#process.stop();
  }

  /** kill -9. */
  async kill(): Promise<void> {
    process.kill(this.pid, 'SIGKILL');
    await this.exited;
  }
}

export interface Engines {
  readonly postgres: Engine;
  readonly redis: Engine;
  readonly clickhouse: Engine;
  /** Stops all three and removes their data. */
  stop(): Promise<void>;
}

/**
 * All three engines on free ports and a temporary directory, for tests and benchmarks. Whatever ends this process,
 * Ctrl-C and kill -9 included, ends the engines and removes the directory too.
 */
export async function startThrowawayEngines(options: { postgresLog?: string } = {}): Promise<Engines> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-'));
  // The user that Postgres runs as when we are root must get through to its own directory.
  chmodSync(directory, 0o711);
  const reaper = startReaper(directory);
  const start = (name: EngineName) =>
    Engine.start(name, {
      dataDir: join(directory, name),
      durable: false,
      ...(name === 'postgres' && { logFile: options.postgresLog }),
      onSpawn: (child: RunningProcess) => reaper.watch(child),
    });
  const [postgres, redis, clickhouse] = await Promise.all([start('postgres'), start('redis'), start('clickhouse')]);
  return {
    postgres,
    redis,
    clickhouse,
    async stop() {
      await Promise.all([clickhouse.stop(), redis.stop(), postgres.stop()]);
      rmSync(directory, { recursive: true, force: true });
      await reaper.close();
    },
  };
}
