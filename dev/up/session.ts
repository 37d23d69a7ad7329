import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningProcess } from '../process/child.ts';
import { lastLines } from '../process/log-file.ts';
import { type Reaper, startReaper } from '../process/reaper.ts';
import { type Stoppable, Supervised } from '../process/supervised.ts';
import { type Connection, removeConnection, writeConnection } from './connection-file.ts';
import { CannotStart } from './errors.ts';
import { type ProcessName, STOP_ORDER } from './process-names.ts';
import { recordProcess } from './process-records.ts';

export interface Paths {
  lock: string;
  records: string;
  logs: string;
  secrets: string;
  connection: string;
  ports: string;
}

const FAST_DEATHS_LOUD = 5;
const LOG_LINES = 10;

/** Creates the data directory. If root creates it, other users may enter it, because Postgres runs as another user. */
export function layOut(dataDir: string): Paths {
  const paths = {
    lock: join(dataDir, 'up.lock'),
    records: join(dataDir, 'run'),
    logs: join(dataDir, 'logs'),
    secrets: join(dataDir, 'secrets.json'),
    connection: join(dataDir, 'connection.json'),
    ports: join(dataDir, 'ports.json'),
  };
  try {
    mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CannotStart(
      `DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}. Name a directory that you may write to`,
    );
  }
  return paths;
}

/** The processes of one `up`. Restarts them, keeps connection.json correct, and stops them in order. */
export class Session {
  readonly paths: Paths;
  readonly #reaper: Reaper = startReaper();
  readonly #children = new Map<ProcessName, Supervised>();
  #connection: Omit<Connection, 'pids'> | undefined;

  constructor(paths: Paths) {
    this.paths = paths;
  }

  logFile(name: string): string {
    return join(this.paths.logs, `${name}.log`);
  }

  /** Called for every process when it exists, so that no process runs longer than this one. */
  onSpawn(name: ProcessName): (child: RunningProcess) => void {
    return (child) => {
      this.#reaper.watch(child);
      recordProcess(this.paths.records, name, child);
    };
  }

  /** Restarts a running process from now on whenever it ends. */
  supervise(name: ProcessName, running: Stoppable, start: () => Promise<Stoppable>): void {
    const supervised = new Supervised(running, start, {
      onDeath: (reason, fastDeaths) => this.#tellDeath(name, reason, fastDeaths),
      onRevival: (pid) => {
        console.log(`✓ ${name} runs again, pid ${pid}`);
        this.#publish();
      },
    });
    this.#children.set(name, supervised);
  }

  /** Writes connection.json now and whenever a pid changes. */
  publish(connection: Omit<Connection, 'pids'>): Connection {
    this.#connection = connection;
    this.#publish();
    return { ...connection, pids: this.#pids() };
  }

  /** Stops all processes one after the other, each within its time limit. */
  async stop(): Promise<void> {
    this.#connection = undefined;
    removeConnection(this.paths.connection);
    for (const name of STOP_ORDER) {
      const child = this.#children.get(name);
      if (!child) continue;
      await child.stop();
      console.log(`✓ ${name} stopped`);
    }
    await this.#reaper.close();
  }

  #publish(): void {
    if (this.#connection) writeConnection(this.paths.connection, { ...this.#connection, pids: this.#pids() });
  }

  #pids(): Connection['pids'] {
    const pid = (name: ProcessName) => this.#children.get(name)?.pid ?? null;
    return {
      api: pid('api'),
      worker: pid('worker'),
      postgres: pid('postgres'),
      redis: pid('redis'),
      clickhouse: pid('clickhouse'),
    };
  }

  #tellDeath(name: ProcessName, reason: string, fastDeaths: number): void {
    const [firstLine] = reason.split('\n');
    console.error(`✗ ${name} ended (${firstLine}), starting it again`);
    if (fastDeaths === 0 || fastDeaths % FAST_DEATHS_LOUD !== 0) return;
    const log = this.logFile(name);
    console.error(
      `✗ ${name} ended ${fastDeaths} times within 10 s of its start; from ${log}:\n${lastLines(log, LOG_LINES)}`,
    );
  }
}
