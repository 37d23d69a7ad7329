-- Log records of spans, each once: the row that was received first. They give spans their content,
-- also when a span is received again or normalized again.
CREATE TABLE IF NOT EXISTS log_records
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    -- all zeros for an evaluation of the whole trace
    span_id FixedString(8),
    -- a hash of the content, see src/domains/log-records/record-identity.ts
    record_id FixedString(16),
    received_at DateTime64(3, 'UTC'),
    -- 0 keeps forever
    retention_days UInt16,
    -- the request that brought the record, and the place in it
    request UInt64,
    position UInt32,

    -- as sent (OTLP); the scope as OTLP/JSON
    time_unix_nano UInt64,
    observed_unix_nano UInt64,
    event_name LowCardinality(String),
    severity_number Int32,
    severity_text LowCardinality(String),
    body String CODEC(ZSTD(1)),
    attributes String CODEC(ZSTD(1)),
    dropped_attributes_count UInt32,
    flags UInt32,
    scope LowCardinality(String),
    resource LowCardinality(String),
    warnings Array(LowCardinality(String)),

    -- whether its event name has a meaning (src/domains/conventions)
    is_gen_ai Bool,
    bytes UInt32,
    -- ReplacingMergeTree keeps the largest, which is the one received first.
    row_version UInt64 MATERIALIZED 4398046511104 - toUInt64(toUnixTimestamp64Milli(received_at))
)
ENGINE = ReplacingMergeTree(row_version)
PARTITION BY toYYYYMM(received_at)
ORDER BY (project_id, trace_id, span_id, record_id)
-- The sum is explained in 0001_create_spans.sql.
TTL toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + retention_days * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
SETTINGS index_granularity = 1024, merge_selector_base = 60, non_replicated_deduplication_window = 1000,
    min_bytes_for_wide_part = 134217728, auto_statistics_types = '';
