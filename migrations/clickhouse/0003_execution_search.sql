-- `attr.<key>=<value>` looks for hashes of key and value, which the engine computes. Short values repeat, so an inverted index of them is
-- small and answers by itself; long ones are mostly unique, so they stand in a column that a bloom filter spares from being read.
-- What is short is said in src/domains/executions/filters/attribute-type.ts too.
ALTER TABLE spans
    ADD COLUMN IF NOT EXISTS short_attribute_hashes Array(FixedString(8)) ALIAS arrayConcat(
        arrayMap((key, value) -> reinterpretAsFixedString(if(length(value) <= 20, cityHash64(key, value), 0)),
            mapKeys(attributes_string), mapValues(attributes_string)),
        arrayMap((key, value) -> reinterpretAsFixedString(cityHash64(key, toString(value))),
            mapKeys(attributes_int), mapValues(attributes_int)),
        arrayMap((key, value) -> reinterpretAsFixedString(if(length(toString(value)) <= 6, cityHash64(key, toString(value)), 0)),
            mapKeys(attributes_double), mapValues(attributes_double)),
        arrayMap((key, value) -> reinterpretAsFixedString(cityHash64(key, toString(value))),
            mapKeys(attributes_bool), mapValues(attributes_bool))),
    ADD INDEX IF NOT EXISTS short_attributes arrayConcat(
        arrayMap((key, value) -> reinterpretAsFixedString(if(length(value) <= 20, cityHash64(key, value), 0)),
            mapKeys(attributes_string), mapValues(attributes_string)),
        arrayMap((key, value) -> reinterpretAsFixedString(cityHash64(key, toString(value))),
            mapKeys(attributes_int), mapValues(attributes_int)),
        arrayMap((key, value) -> reinterpretAsFixedString(if(length(toString(value)) <= 6, cityHash64(key, toString(value)), 0)),
            mapKeys(attributes_double), mapValues(attributes_double)),
        arrayMap((key, value) -> reinterpretAsFixedString(cityHash64(key, toString(value))),
            mapKeys(attributes_bool), mapValues(attributes_bool)))
        TYPE text(tokenizer = 'array'),
    ADD COLUMN IF NOT EXISTS long_attribute_hashes Array(UInt64) MATERIALIZED arrayFilter(hash -> hash != 0, arrayConcat(
        arrayMap((key, value) -> if(length(value) <= 20, 0, cityHash64(key, value)),
            mapKeys(attributes_string), mapValues(attributes_string)),
        arrayMap((key, value) -> if(length(toString(value)) <= 6, 0, cityHash64(key, toString(value))),
            mapKeys(attributes_double), mapValues(attributes_double)))) CODEC(NONE),
    ADD INDEX IF NOT EXISTS long_attributes long_attribute_hashes TYPE bloom_filter(0.005) GRANULARITY 1,
    -- `q` looks for words; line breaks stand as \n in JSON.
    ADD COLUMN IF NOT EXISTS search_texts Array(String) ALIAS
        array(replaceAll(lowerUTF8(input), '\\n', ' '), replaceAll(lowerUTF8(output), '\\n', ' ')),
    ADD INDEX IF NOT EXISTS words array(replaceAll(lowerUTF8(input), '\\n', ' '), replaceAll(lowerUTF8(output), '\\n', ' '))
        TYPE text(tokenizer = 'splitByNonAlpha');

ALTER TABLE spans MATERIALIZE COLUMN long_attribute_hashes;
ALTER TABLE spans MATERIALIZE INDEX short_attributes;
ALTER TABLE spans MATERIALIZE INDEX long_attributes;
ALTER TABLE spans MATERIALIZE INDEX words;

-- A page of a list is rows from all over the table: small granules, small and quickly inflated blocks and `summary` make reading them
-- several times as fast. The old rows are copied, and once more after the exchange: what a
-- worker wrote meanwhile is among them, and equal rows collapse.
DROP TABLE IF EXISTS executions_next;

CREATE TABLE executions_next
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    version UInt64,
    -- by the engine's clock, when the row was written
    summarised_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
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
    -- beside `prompts`, element by element
    prompt_keys Array(String) DEFAULT arrayMap(p -> '', prompts),
    prompt_calls Array(UInt32) DEFAULT arrayMap(p -> 1, prompts),
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
    input_preview String,
    output_preview String,
    -- the row as JSON of `Execution`, so that a list reads one column instead of thirty; numbers beyond 2^53 are texts. Workers write
    -- it, for whom it is cheaper than for the engine
    summary String DEFAULT toJSONString(CAST(
        tuple(project_id, lower(hex(trace_id)), toString(version), toUnixTimestamp64Milli(received_at), retention_days,
            toString(start_unix_nano), toString(end_unix_nano), name, toString(status), complete, span_count, error_count,
            models, providers,
            arrayMap((p, key, calls) -> tuple(p.1, p.2, p.3, key, calls), prompts, prompt_keys, prompt_calls),
            tuple(input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens),
            toString(cost_nano_usd), unpriced_spans, session_id, user_id, environment, service, tags, input_preview, output_preview),
        'Tuple(projectId String, traceId String, version String, receivedAtMs Float64, retentionDays Float64,
            startUnixNano String, endUnixNano String, name String, status String, complete Bool, spanCount Float64, errorCount Float64,
            models Array(String), providers Array(String), prompts Array(Tuple(id String, name String, version UInt32, key String, calls UInt32)),
            usage Tuple(inputTokens Float64, outputTokens Float64, cacheReadTokens Float64, cacheWriteTokens Float64,
                reasoningTokens Float64, totalTokens Float64),
            costNanoUsd Nullable(String), unpricedSpans Float64, sessionId String, userId String, environment String, service String,
            tags Array(String), inputPreview String, outputPreview String)')),
    INDEX start_minmax start_unix_nano TYPE minmax GRANULARITY 16,
    INDEX summarised_minmax summarised_at TYPE minmax GRANULARITY 16
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (project_id, trace_id)
TTL toDateTime(received_at) + toIntervalDay(retention_days) DELETE WHERE retention_days > 0
SETTINGS index_granularity = 64, min_compress_block_size = 2048, max_compress_block_size = 8192,
    non_replicated_deduplication_window = 1000;

INSERT INTO executions_next
   (project_id, trace_id, version, received_at, retention_days, start_unix_nano, end_unix_nano, name, status, complete, span_count,
    error_count, models, providers, prompts, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
    total_tokens, cost_nano_usd, unpriced_spans, session_id, user_id, environment, service, tags, input_preview, output_preview, summarised_at)
SELECT
    project_id, trace_id, version, received_at, retention_days, start_unix_nano, end_unix_nano, name, status, complete, span_count,
    error_count, models, providers, prompts, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
    total_tokens, cost_nano_usd, unpriced_spans, session_id, user_id, environment, service, tags, input_preview, output_preview, received_at
FROM executions;

EXCHANGE TABLES executions AND executions_next;

INSERT INTO executions
   (project_id, trace_id, version, received_at, retention_days, start_unix_nano, end_unix_nano, name, status, complete, span_count,
    error_count, models, providers, prompts, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
    total_tokens, cost_nano_usd, unpriced_spans, session_id, user_id, environment, service, tags, input_preview, output_preview, summarised_at)
SELECT
    project_id, trace_id, version, received_at, retention_days, start_unix_nano, end_unix_nano, name, status, complete, span_count,
    error_count, models, providers, prompts, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
    total_tokens, cost_nano_usd, unpriced_spans, session_id, user_id, environment, service, tags, input_preview, output_preview, received_at
FROM executions_next;

DROP TABLE executions_next;

-- Every summary of an execution with what lists sort by: a walk keeps the places that executions had when it began. Rows of
-- `executions` cannot tell, because merges remove the older ones.
CREATE TABLE IF NOT EXISTS execution_versions
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    summarised_at DateTime64(3, 'UTC'),
    version UInt64,
    received_at DateTime64(3, 'UTC'),
    retention_days UInt16,
    start_unix_nano UInt64,
    end_unix_nano UInt64,
    total_tokens UInt64,
    cost_nano_usd Nullable(Int64)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(summarised_at)
ORDER BY (project_id, trace_id, summarised_at)
TTL toDateTime(received_at) + toIntervalDay(retention_days) DELETE WHERE retention_days > 0
SETTINGS index_granularity = 1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS execution_versions_view TO execution_versions AS
SELECT project_id, trace_id, summarised_at, version, received_at, retention_days,
       start_unix_nano, end_unix_nano, total_tokens, cost_nano_usd
FROM executions;

INSERT INTO execution_versions
SELECT project_id, trace_id, summarised_at, version, received_at, retention_days,
       start_unix_nano, end_unix_nano, total_tokens, cost_nano_usd
FROM executions FINAL;
