-- Hashes of key and value of every scalar attribute: `attr.<key>=<value>` looks here, and reads 8 bytes an attribute instead of
-- the maps. Computed by the engine, so that nobody sends it.
ALTER TABLE spans
    ADD COLUMN IF NOT EXISTS attribute_hashes Array(UInt64) MATERIALIZED arrayConcat(
        arrayMap((key, value) -> cityHash64(key, value), mapKeys(attributes_string), mapValues(attributes_string)),
        arrayMap((key, value) -> cityHash64(key, toString(value)), mapKeys(attributes_int), mapValues(attributes_int)),
        arrayMap((key, value) -> cityHash64(key, toString(value)), mapKeys(attributes_double), mapValues(attributes_double)),
        arrayMap((key, value) -> cityHash64(key, toString(value)), mapKeys(attributes_bool), mapValues(attributes_bool))
    ) CODEC(NONE),
    ADD INDEX IF NOT EXISTS attribute_hashes_bloom attribute_hashes TYPE bloom_filter(0.005) GRANULARITY 1,
    -- The words of `q`; line breaks stand as \n in JSON. The same expression is in src/domains/executions/filters/span-tests.ts.
    ADD INDEX IF NOT EXISTS words array(replaceAll(lowerUTF8(input), '\\n', ' '), replaceAll(lowerUTF8(output), '\\n', ' '))
        TYPE text(tokenizer = 'splitByNonAlpha');

ALTER TABLE spans MATERIALIZE COLUMN attribute_hashes;
ALTER TABLE spans MATERIALIZE INDEX attribute_hashes_bloom;
ALTER TABLE spans MATERIALIZE INDEX words;

-- Every summary of an execution with what lists sort by: a walk keeps the places that executions had when it began. Rows of
-- `executions` cannot tell, because merges remove the older ones.
CREATE TABLE IF NOT EXISTS execution_versions
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    summarised_at DateTime64(3, 'UTC'),
    received_at DateTime64(3, 'UTC'),
    retention_days UInt16,
    version UInt64,
    start_unix_nano UInt64,
    end_unix_nano UInt64,
    total_tokens UInt64,
    cost_nano_usd Nullable(Int64),
    INDEX summarised_minmax summarised_at TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(summarised_at)
ORDER BY (project_id, trace_id, summarised_at)
TTL toDateTime(received_at) + toIntervalDay(retention_days) DELETE WHERE retention_days > 0
SETTINGS index_granularity = 1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS execution_versions_view TO execution_versions AS
SELECT project_id, trace_id, now64(3, 'UTC') AS summarised_at, received_at, retention_days, version,
       start_unix_nano, end_unix_nano, total_tokens, cost_nano_usd
FROM executions;

INSERT INTO execution_versions
SELECT project_id, trace_id, received_at AS summarised_at, received_at, retention_days, version,
       start_unix_nano, end_unix_nano, total_tokens, cost_nano_usd
FROM executions FINAL;
