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
  /** False for data that is deleted after use. Then Postgres works without fsync. */
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

/**
 * An engine that can be stopped, killed and started again on the same port with the same data. Its
 * `url` does not change.
 */
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
  /** Resolves when the running process has ended. */
  get exited(): Promise<ProcessExit> {
    return this.#process.exited;
  }

  /** Starts the engine again after `stop`, `kill` or a crash. */
  async start(): Promise<void> {
    this.#process = await STARTERS[this.name]({ ...this.#options, port: this.port });
  }

  /** Stops the engine in an orderly way. Does nothing if it has already ended. */
  async stop(): Promise<void> {
    await this.#process.stop();
  }

  /** Kills the engine with SIGKILL. */
  async kill(): Promise<void> {
    process.kill(this.pid, 'SIGKILL');
    await this.exited;
  }
}

export interface Engines {
  readonly postgres: Engine;
  readonly redis: Engine;
  readonly clickhouse: Engine;
  /** Stops all engines and removes their data. */
  stop(): Promise<void>;
}

/**
 * Starts all three engines on free ports and in a temporary directory, for tests and benchmarks.
 * When this process ends, also by Ctrl-C or kill -9, the engines end and the directory is removed.
 */
export async function startThrowawayEngines(options: { postgresLog?: string } = {}): Promise<Engines> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-'));
  // If this process runs as root, Postgres runs as another user. This user must be able to enter its own directory.
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
