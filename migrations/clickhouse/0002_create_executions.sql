-- One row per trace. The worker computes it from all spans of the trace after every insert into it.
-- The row that saw most spans has the greatest `version` (src/domains/summaries/execution.ts). A
-- page of a list reads rows from all over the table, so granules and blocks are small.
CREATE TABLE IF NOT EXISTS executions
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    version UInt64,
    -- by the engine's clock, when the row was written
    summarized_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    received_at DateTime64(3, 'UTC'),
    -- the lowest among the spans
    normalizer_version UInt16,
    -- 0 keeps forever
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
    -- beside `prompts`, element by element
    prompt_keys Array(String) DEFAULT arrayMap(p -> '', prompts),
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
    -- the row as JSON of `Execution`, so that a list reads one column instead of thirty; numbers
    -- beyond 2^53 are texts. Workers write it (src/domains/summaries/execution-summary.ts)
    summary String CODEC(ZSTD(1)),
    INDEX start_minmax start_unix_nano TYPE minmax GRANULARITY 16,
    INDEX summarized_minmax summarized_at TYPE minmax GRANULARITY 16
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (project_id, trace_id)
-- as in `spans`
TTL toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + retention_days * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
SETTINGS index_granularity = 64, min_compress_block_size = 2048, max_compress_block_size = 8192,
    non_replicated_deduplication_window = 1000, auto_statistics_types = '';
