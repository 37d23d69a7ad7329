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
 * Creates an HTTP client. `requestTimeoutMs` limits one request. The client's log is off because it
 * prints statements.
 */
export function connectClickHouse(url: string, requestTimeoutMs = 20_000): ClickHouse {
  return createClient({
    url,
    application: 'promptlane',
    request_timeout: requestTimeoutMs,
    max_open_connections: 48,
    clickhouse_settings: readSettings,
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

const stoppableSettings = { readonly: '2', cancel_http_readonly_queries_on_client_close: 1 } as const;
