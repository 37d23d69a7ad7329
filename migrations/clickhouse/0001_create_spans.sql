-- One row per span as last received. The key is the span's identity, so a resend with any change
-- collapses to the row received last. Partitions and retention go by the time of receipt, so an old
-- or zero start is harmless.
CREATE TABLE IF NOT EXISTS spans
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    span_id FixedString(8),
    received_at DateTime64(3, 'UTC'),
    -- 0 keeps forever
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
    -- An attribute whose value is `input` or `output`, and longer than 20 bytes, is only named here.
    input_attribute LowCardinality(String),
    output_attribute LowCardinality(String),
    attributes_string Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    attributes_int Map(LowCardinality(String), Int64) CODEC(ZSTD(1)),
    attributes_double Map(LowCardinality(String), Float64) CODEC(ZSTD(1)),
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

    -- normalized
    normalizer_version UInt16,
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
    response_id String CODEC(ZSTD(1)),
    session_id String CODEC(ZSTD(1)),
    conversation_id String,
    user_id String,
    tags Array(LowCardinality(String)),
    prompt_id LowCardinality(String),
    prompt_name LowCardinality(String),
    prompt_version UInt32,
    prompt_raw_version LowCardinality(String),
    prompt_source LowCardinality(String),
    -- finds a prompt that has no known name: the id that was sent, or `sha256:` and the hash of a
    -- template's text
    prompt_key String CODEC(ZSTD(1)),
    params String CODEC(ZSTD(1)),
    -- judgments of the span, its trace or its session, as a JSON list; '' is none
    -- (src/domains/conventions/evaluations.ts)
    evaluations String DEFAULT '' CODEC(ZSTD(1)),
    input_preview String CODEC(ZSTD(3)),
    output_preview String CODEC(ZSTD(3)),
    input String CODEC(ZSTD(3)),
    output String CODEC(ZSTD(3)),
    warnings Array(LowCardinality(String)),

    -- Of rows with one time of receipt, the one that knew of more log records is newer.
    log_records UInt32,
    -- the log records that the row was made with, those left out because of a limit, and those of the
    -- whole trace that this span shows
    log_count UInt32,
    dropped_log_records UInt32,
    trace_log_records UInt32,
    row_version UInt64 MATERIALIZED toUInt64(toUnixTimestamp64Milli(received_at)) * 4194304 + least(log_records, 4194303),

    -- `attr.<key>=<value>` looks for hashes of key and value, with the limits of
    -- src/domains/executions/filters/attribute-type.ts. Short values repeat, so their inverted index
    -- is small and answers alone. They are stored: a query over the formula plans 4 ms longer.
    short_attribute_hashes Array(FixedString(8)) MATERIALIZED arrayMap(
        hash -> reinterpretAsFixedString(hash), arrayFilter(hash -> hash != 0, arrayConcat(
            arrayMap((key, value) -> if(length(value) <= 20, cityHash64(key, value), 0),
                mapKeys(attributes_string), mapValues(attributes_string)),
            arrayMap((key, value) -> cityHash64(key, toString(value)), mapKeys(attributes_int), mapValues(attributes_int)),
            arrayMap((key, value) -> if(length(toString(value)) <= 6, cityHash64(key, toString(value)), 0),
                mapKeys(attributes_double), mapValues(attributes_double)),
            arrayMap((key, value) -> cityHash64(key, toString(value)), mapKeys(attributes_bool), mapValues(attributes_bool))))) CODEC(ZSTD(1)),
    -- Long values are mostly unique, so a bloom filter mostly avoids reading their column. 48 bits of a hash suffice:
    -- of a thousand million values, another one has the same with a probability of 4e-6. T64 stores no other bits.
    long_attribute_hashes Array(UInt64) MATERIALIZED arrayMap(hash -> bitAnd(hash, 0xFFFFFFFFFFFF), arrayFilter(hash -> hash != 0, arrayConcat(
        [if(input_attribute = '', 0, cityHash64(input_attribute, input)),
         if(output_attribute = '', 0, cityHash64(output_attribute, output))],
        arrayMap((key, value) -> if(length(value) <= 20, 0, cityHash64(key, value)),
            mapKeys(attributes_string), mapValues(attributes_string)),
        arrayMap((key, value) -> if(length(toString(value)) <= 6, 0, cityHash64(key, toString(value))),
            mapKeys(attributes_double), mapValues(attributes_double))))) CODEC(T64),
    -- `q` looks for words; JSON writes line breaks as \n.
    search_texts Array(String) ALIAS
        array(replaceAll(lowerUTF8(input), '\\n', ' '), replaceAll(lowerUTF8(output), '\\n', ' ')),

    INDEX long_attributes long_attribute_hashes TYPE bloom_filter(0.005) GRANULARITY 1,
    INDEX words array(replaceAll(lowerUTF8(input), '\\n', ' '), replaceAll(lowerUTF8(output), '\\n', ' '))
        TYPE text(tokenizer = 'splitByNonAlpha', posting_list_codec = 'bitpacking'),
    INDEX short_attributes short_attribute_hashes TYPE text(tokenizer = 'array', posting_list_codec = 'bitpacking')
)
ENGINE = ReplacingMergeTree(row_version)
PARTITION BY toYYYYMM(received_at)
ORDER BY (project_id, trace_id, span_id)
-- The sum counts seconds as UInt64 and stops at the last DateTime, in 2106: a sum of DateTimes
-- starts again in 1970, and the row is deleted at once. More than 28,000 days
-- (src/domains/workspaces/plan-overrides.ts) keep forever.
TTL toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + retention_days * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
-- Merges go column by column and begin at twenty parts; otherwise they cost as much as the inserts.
-- No query uses statistics.
SETTINGS index_granularity = 1024, merge_selector_base = 60, non_replicated_deduplication_window = 1000,
    min_bytes_for_wide_part = 134217728, vertical_merge_algorithm_min_rows_to_activate = 1,
    vertical_merge_algorithm_min_columns_to_activate = 1, auto_statistics_types = '';
