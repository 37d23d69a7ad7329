import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client';

export type ClickHouse = ClickHouseClient;
export type { ClickHouseSettings };

/** Settings of every read: bounded in time, rows, bytes and memory; 64-bit integers stay exact as strings. */
const readSettings = {
  output_format_json_quote_64bit_integers: 1,
  max_execution_time: 15,
  max_result_rows: '200000',
  max_result_bytes: '268435456',
  max_memory_usage: '2000000000',
} as const;

/** A client over HTTP. `requestTimeoutMs` bounds one request; the log is off because it prints statements. */
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
 * The same client, whose queries end as soon as `signal` is aborted: the connection is closed, and the engine stops a query that only
 * reads when nobody waits for it (`readonly` 2 lets the other settings be set). `settings` hold where a query has none of its own.
 */
export function stoppable(clickhouse: ClickHouse, signal: AbortSignal, settings: ClickHouseSettings = {}): ClickHouse {
  const query: ClickHouse['query'] = (params) =>
    clickhouse.query({
      ...params,
      abort_signal: signal,
      clickhouse_settings: { ...settings, ...params.clickhouse_settings, ...stoppableSettings },
    });
  return Object.assign(Object.create(clickhouse), { query });
}

const stoppableSettings = { readonly: '2', cancel_http_readonly_queries_on_client_close: 1 } as const;
