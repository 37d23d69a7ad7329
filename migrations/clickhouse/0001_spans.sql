-- One row per span as last received. The key is the span's identity, so a resend with any change collapses to the row
-- received last (reads say FINAL). Partitions and retention go by the time of receipt: an old or zero start is harmless.
CREATE TABLE IF NOT EXISTS spans
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    span_id FixedString(8),
    received_at DateTime64(3, 'UTC'),
    -- 0 keeps for ever
    retention_days UInt16,

    -- as sent (OTLP)
    parent_span_id FixedString(8),
    start_unix_nano UInt64,
    end_unix_nano UInt64,
    span_name LowCardinality(String),
    otel_kind Int32,
    status_code Int32,
    status_message String,
    trace_state String,
    flags UInt32,
    attributes_string Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    attributes_int Map(LowCardinality(String), Int64),
    attributes_double Map(LowCardinality(String), Float64),
    attributes_bool Map(LowCardinality(String), Bool),
    -- bytes, arrays, key-value lists and empty values, as OTLP/JSON
    attributes_other Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    -- OTLP/JSON with the schema URL; few processes send many spans
    resource LowCardinality(String),
    scope LowCardinality(String),
    events String CODEC(ZSTD(1)),
    links String,
    dropped_attributes_count UInt32,
    dropped_events_count UInt32,
    dropped_links_count UInt32,

    -- normalised
    normaliser_version UInt16,
    kind LowCardinality(String),
    name LowCardinality(String),
    status Enum8('unset' = 0, 'ok' = 1, 'error' = 2),
    error_type LowCardinality(String),
    error_message String CODEC(ZSTD(1)),
    error_stack String CODEC(ZSTD(1)),
    http_status_code UInt16,
    service LowCardinality(String),
    environment LowCardinality(String),
    release LowCardinality(String),
    provider LowCardinality(String),
    model LowCardinality(String),
    request_model LowCardinality(String),
    has_usage Bool,
    input_tokens UInt32,
    output_tokens UInt32,
    cache_read_tokens UInt32,
    cache_write_tokens UInt32,
    reasoning_tokens UInt32,
    total_tokens UInt32,
    cost_nano_usd Int64,
    cost_source Enum8('none' = 0, 'reported' = 1, 'computed' = 2),
    price_version LowCardinality(String),
    ttft_ms Nullable(Float64),
    response_id String,
    session_id String,
    conversation_id String,
    user_id String,
    tags Array(LowCardinality(String)),
    prompt_id LowCardinality(String),
    prompt_name LowCardinality(String),
    prompt_version UInt32,
    prompt_raw_version LowCardinality(String),
    prompt_source LowCardinality(String),
    params String CODEC(ZSTD(1)),
    input_preview String CODEC(ZSTD(1)),
    output_preview String CODEC(ZSTD(1)),
    input String CODEC(ZSTD(1)),
    output String CODEC(ZSTD(1)),
    warnings Array(LowCardinality(String)),

    INDEX trace_id_bloom trace_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(received_at)
PARTITION BY toYYYYMM(received_at)
ORDER BY (project_id, trace_id, span_id)
TTL toDateTime(received_at) + toIntervalDay(retention_days) DELETE WHERE retention_days > 0
SETTINGS index_granularity = 1024, merge_selector_base = 10, non_replicated_deduplication_window = 1000, min_bytes_for_wide_part = 134217728;
