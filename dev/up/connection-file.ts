import { rmSync } from 'node:fs';
import { z } from 'zod';
import type { EngineName } from '../engines.ts';
import { readIfPresent, replaceJson } from './files.ts';
import type { ProcessName } from './process-names.ts';

/** Content of `connection.json` while `up` runs. The pid of an engine that runs elsewhere is null. */
export interface Connection {
  url: string;
  workspace_id: string;
  project_id: string;
  api_key: string;
  admin_key: string;
  database_url: string;
  redis_url: string;
  clickhouse_url: string;
  /** Where the service looks for models. */
  llm_base_url: string;
  pids: Record<ProcessName, number | null>;
}

const portsSchema = z.partialRecord(z.enum(['postgres', 'redis', 'clickhouse']), z.int().min(1).max(65_535));

export type EnginePorts = Partial<Record<EngineName, number>>;

export function writeConnection(path: string, connection: Connection): void {
  replaceJson(path, connection);
}

/** Removes the file. It exists only while its content is correct. */
export function removeConnection(path: string): void {
  rmSync(path, { force: true });
}

/** Returns the ports of the last run, so that a restart keeps its URLs. */
export function readPorts(path: string): EnginePorts {
  try {
    return portsSchema.parse(JSON.parse(readIfPresent(path) ?? '{}'));
  } catch {
    return {};
  }
}

export function writePorts(path: string, ports: EnginePorts): void {
  replaceJson(path, ports);
}
