import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { drainPending, Session } from 'chdb';
import { quoteString } from './prelude.ts';

export interface Engine {
  path: string;
  /** Directory in which request bodies wait for their INSERT. It is empty at the start. */
  spoolPath: string;
  version: string;
  timezone: string;
  /** Stops the statements whose `log_comment` ends with this mark. */
  kill(mark: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the data directory and keeps one connection to it. Without it, chDB would stop the engine between statements.
 * @throws Error of one line if another process uses the directory
 */
export async function openEngine(dataDir: string): Promise<Engine> {
  const path = join(dataDir, 'engine');
  const spoolPath = join(dataDir, 'spool');
  mkdirSync(path, { recursive: true });
  const configPath = join(dataDir, 'engine-config.xml');
  const session = openSession(path, configPath);
  rmSync(spoolPath, { recursive: true, force: true });
  mkdirSync(spoolPath);
  const facts = await session.queryAsync('SELECT version(), timezone()', { format: 'TSV' });
  const [version = '', timezone = ''] = facts.text().trim().split('\t');
  return {
    path,
    spoolPath,
    version,
    timezone,
    async kill(mark) {
      await session.queryAsync(`KILL QUERY WHERE endsWith(Settings['log_comment'], ${quoteString(mark)})`);
    },
    async close() {
      await drainPending();
      session.close();
    },
  };
}

function openSession(path: string, configPath: string): Session {
  // Every process writes the same content, so a process that does not get the directory changes nothing.
  writeFileSync(configPath, engineConfig());
  try {
    return new Session(path, { connectionArgs: [`--config-file=${configPath}`] });
  } catch (error) {
    throw new Error(`cannot open the ClickHouse data directory ${path}: ${reasonOf(path, error)}`);
  }
}

/**
 * The engine writes its process to `status`. The lock on this file ends with the process, so an old
 * file has no effect.
 */
function reasonOf(path: string, error: unknown): string {
  const pid = /PID: (\d+)/.exec(readStatus(path))?.[1];
  if (pid !== undefined && isAlive(Number(pid))) return `process ${pid} holds it`;
  return error instanceof Error ? error.message : String(error);
}

function readStatus(path: string): string {
  try {
    return readFileSync(join(path, 'status'), 'utf8');
  } catch {
    return '';
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const MEMORY_BYTES_MAX = 4 * 1024 ** 3;

/** Limits for a machine that also runs all other processes. Without a log section, there are no log tables. */
function engineConfig(): string {
  const memoryBytes = Math.min(MEMORY_BYTES_MAX, Math.floor(totalmem() / 2));
  return `<clickhouse>
  <max_server_memory_usage>${memoryBytes}</max_server_memory_usage>
  <mark_cache_size>${64 * 1024 ** 2}</mark_cache_size>
  <background_pool_size>2</background_pool_size>
  <background_schedule_pool_size>4</background_schedule_pool_size>
  <os_threads_nice_value_merge_mutate>10</os_threads_nice_value_merge_mutate>
</clickhouse>
`;
}
