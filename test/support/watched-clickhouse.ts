import { ClickHouseError } from '@clickhouse/client';
import type { ClickHouse, ClickHouseSettings } from '../../src/stores/clickhouse/client.ts';

export type Statement = Parameters<ClickHouse['exec']>[0];

/** Returns a client whose statements are given to `watch`, which may throw, before they are sent with these settings. */
export function watchedClickHouse(
  clickhouse: ClickHouse,
  watch: (statement: Statement) => void,
  settings: ClickHouseSettings = {},
): ClickHouse {
  const exec: ClickHouse['exec'] = async (statement) => {
    watch(statement);
    return clickhouse.exec({ ...statement, clickhouse_settings: { ...statement.clickhouse_settings, ...settings } });
  };
  return Object.assign(Object.create(clickhouse), { exec });
}

/** Returns the same client, whose statements have so many bytes of memory. */
export function limitedClickHouse(clickhouse: ClickHouse, bytes: number): ClickHouse {
  return watchedClickHouse(clickhouse, () => undefined, { max_memory_usage: String(bytes) });
}

/** Returns the ids of the spans that a statement names. */
export function spanIdsIn({ query_params }: Statement): string[] {
  return String(query_params?.spanIds ?? '').match(/.{16}/g) ?? [];
}

/** Returns what ClickHouse answers to a statement that takes too much memory. */
export function tooMuchMemory(): ClickHouseError {
  return new ClickHouseError({ code: '241', type: 'MEMORY_LIMIT_EXCEEDED', message: 'Query memory limit exceeded' });
}
