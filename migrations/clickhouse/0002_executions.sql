-- One row per trace, recomputed by the worker from all spans of the trace after every insert that touches it. `version`
-- grows with every span added or replaced (see workers/ingestion/summarise-traces.ts), so the fullest view wins.
CREATE TABLE IF NOT EXISTS executions
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    version UInt64,
    received_at DateTime64(3, 'UTC'),
    -- 0 keeps for ever
    retention_days UInt16,
    start_unix_nano UInt64,
    end_unix_nano UInt64,
    name String,
    status Enum8('unset' = 0, 'ok' = 1, 'error' = 2),
    complete Bool,
    span_count UInt32,
    error_count UInt32,
    models Array(LowCardinality(String)),
    providers Array(LowCardinality(String)),
    prompts Array(Tuple(id String, name String, version UInt32)),
    input_tokens UInt64,
    output_tokens UInt64,
    cache_read_tokens UInt64,
    cache_write_tokens UInt64,
    reasoning_tokens UInt64,
    total_tokens UInt64,
    cost_nano_usd Nullable(Int64),
    unpriced_spans UInt32,
    session_id String,
    user_id String,
    environment LowCardinality(String),
    service LowCardinality(String),
    tags Array(LowCardinality(String)),
    input_preview String CODEC(ZSTD(1)),
    output_preview String CODEC(ZSTD(1)),
    INDEX start_minmax start_unix_nano TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (project_id, trace_id)
TTL toDateTime(received_at) + toIntervalDay(retention_days) DELETE WHERE retention_days > 0
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;
