-- What stats, analytics and budgets read: of each execution the numbers that are summed, and its
-- model calls, each counted once. A new summary of a trace replaces both. `executions` has small
-- granules for pages of lists, which make sums over all rows slow.
CREATE TABLE IF NOT EXISTS execution_facts
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    version UInt64,
    received_at DateTime64(3, 'UTC'),
    -- 0 keeps forever
    retention_days UInt16,
    start_unix_nano UInt64,
    end_unix_nano UInt64,
    status Enum8('unset' = 0, 'ok' = 1, 'error' = 2),
    span_count UInt32,
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
    -- the model calls (src/domains/summaries/execution-calls.ts). Their user and environment are
    -- those of the row
    calls Array(Tuple(
        -- all zeros for an element that stands for several calls
        span_id FixedString(8),
        -- how many calls the element stands for
        calls UInt32,
        start_unix_nano UInt64,
        -- the mean, if there are several; so is the next
        duration_ms Float64,
        -- -1 is unknown
        ttft_ms Float64,
        status Enum8('unset' = 0, 'ok' = 1, 'error' = 2),
        provider LowCardinality(String),
        model LowCardinality(String),
        -- whether usage and cost are part of the sums of the execution
        counted Bool,
        -- whether the cost is known; otherwise it is 0
        priced Bool,
        input_tokens UInt64,
        output_tokens UInt64,
        cache_read_tokens UInt64,
        cache_write_tokens UInt64,
        reasoning_tokens UInt64,
        total_tokens UInt64,
        cost_nano_usd Int64,
        prompt_id LowCardinality(String),
        prompt_name LowCardinality(String),
        prompt_version UInt32,
        prompt_key String)),
    -- the types of its failed spans, '' where a span names none
    errors Array(Tuple(type LowCardinality(String), spans UInt32)),
    INDEX start_minmax start_unix_nano TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (project_id, trace_id)
-- as in `spans`
TTL toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + retention_days * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
SETTINGS non_replicated_deduplication_window = 1000, auto_statistics_types = '';

-- Workers insert a summary here, and it is stored in both tables.
CREATE TABLE IF NOT EXISTS summaries
(
    project_id String,
    trace_id FixedString(16),
    version UInt64,
    received_at DateTime64(3, 'UTC'),
    normalizer_version UInt16,
    retention_days UInt16,
    start_unix_nano UInt64,
    end_unix_nano UInt64,
    name String,
    status Int8,
    complete Bool,
    span_count UInt32,
    error_count UInt32,
    models Array(String),
    providers Array(String),
    prompts Array(Tuple(id String, name String, version UInt32)),
    prompt_keys Array(String),
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
    environment String,
    service String,
    tags Array(String),
    summary String,
    calls Array(Tuple(
        span_id FixedString(8), calls UInt32, start_unix_nano UInt64, duration_ms Float64, ttft_ms Float64, status Int8,
        provider String, model String, counted Bool, priced Bool, input_tokens UInt64, output_tokens UInt64,
        cache_read_tokens UInt64, cache_write_tokens UInt64, reasoning_tokens UInt64, total_tokens UInt64,
        cost_nano_usd Int64, prompt_id String, prompt_name String, prompt_version UInt32, prompt_key String)),
    errors Array(Tuple(type String, spans UInt32))
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS executions_view TO executions AS SELECT * EXCEPT (calls, errors) FROM summaries;

CREATE MATERIALIZED VIEW IF NOT EXISTS execution_facts_view TO execution_facts AS
SELECT project_id, trace_id, version, received_at, retention_days, start_unix_nano, end_unix_nano, status, span_count,
       input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens,
       cost_nano_usd, unpriced_spans, session_id, user_id, environment, calls, errors
FROM summaries;
