import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client';

export type ClickHouse = ClickHouseClient;
export type { ClickHouseSettings };

/**
 * Settings of every read. They limit time, rows, bytes and memory. 64-bit integers are strings, so
 * they stay exact. Tuples are lists, whether ClickHouse names their elements or not.
 */
const readSettings = {
  output_format_json_quote_64bit_integers: 1,
  output_format_json_named_tuples_as_objects: 0,
  max_execution_time: 15,
  max_result_rows: '200000',
  max_result_bytes: '268435456',
  max_memory_usage: '2000000000',
} as const;

/**
 * Settings of sums and of the statements of a worker. Threads of ClickHouse that run them get a third of the
 * processor while those of a short statement want it (sched(7): nice 5 weighs 335, nice 0 weighs 1024). Without
 * CAP_SYS_NICE they have no effect.
 */
export const backgroundSettings = {
  os_threads_nice_value_query: 5,
  os_threads_nice_value_materialized_view: 5,
} as const;

/**
 * Settings of inserts of many rows, of joins of many log records, and of reads of large traces: a tenth of the
 * processor, so that lists and small inserts of others go first.
 */
export const lastSettings = {
  os_threads_nice_value_query: 10,
  os_threads_nice_value_materialized_view: 10,
} as const;

/** A statement that joins no more than this takes a few milliseconds. */
export const fewJoined = { rows: 10, bytes: 64 * 1024 };

/** Returns the settings of a statement that joins log records: who sends few does not wait for who sends many. */
export function joinSettings(rows: number, bytes: number): ClickHouseSettings {
  return rows > fewJoined.rows || bytes > fewJoined.bytes ? lastSettings : {};
}

/**
 * Settings of sums over a project. Half of the threads stay for others. A sum ends before a worker stops waiting for
 * it (15 s).
 */
export const sumSettings = {
  ...backgroundSettings,
  max_execution_time: 10,
  max_threads: 2,
  max_rows_to_read: '500000000',
} as const;

/**
 * Creates an HTTP client. `requestTimeoutMs` limits one request. `settings` belong to each of its
 * statements. The client's log is off because it prints statements.
 */
export function connectClickHouse(
  url: string,
  { requestTimeoutMs = 20_000, settings = {} }: { requestTimeoutMs?: number; settings?: ClickHouseSettings } = {},
): ClickHouse {
  return createClient({
    url,
    application: 'promptlane',
    request_timeout: requestTimeoutMs,
    max_open_connections: 48,
    clickhouse_settings: { ...readSettings, ...settings },
    log: { level: ClickHouseLogLevel.OFF },
  });
}

/**
 * Returns the same client, but its queries end when `signal` is aborted. The connection is closed,
 * and ClickHouse stops a read-only query whose client is gone (`readonly` 2 still allows other
 * settings). `settings` are defaults for queries that do not set them.
 */
export function stoppable(clickhouse: ClickHouse, signal: AbortSignal, settings: ClickHouseSettings = {}): ClickHouse {
  const exec: ClickHouse['exec'] = (params) =>
    clickhouse.exec({
      ...params,
      abort_signal: signal,
      clickhouse_settings: { ...settings, ...params.clickhouse_settings, ...stoppableSettings },
    });
  return Object.assign(Object.create(clickhouse), { exec });
}

/** Settings of a query that ClickHouse stops when its client is gone. */
export const stoppableSettings = { readonly: '2', cancel_http_readonly_queries_on_client_close: 1 } as const;
