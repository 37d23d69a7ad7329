import type { EngineName } from '../engines.ts';

export type ProcessName = 'api' | 'worker' | EngineName;

/** Who needs others stops before them. */
export const STOP_ORDER: readonly ProcessName[] = ['api', 'worker', 'clickhouse', 'redis', 'postgres'];
