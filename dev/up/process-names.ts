import type { EngineName } from '../engines.ts';

export type ProcessName = 'api' | 'worker' | EngineName;

/** A process stops before the processes that it needs. */
export const STOP_ORDER: readonly ProcessName[] = ['api', 'worker', 'clickhouse', 'redis', 'postgres'];
