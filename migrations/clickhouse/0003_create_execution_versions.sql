-- Every summary of an execution, with what lists sort by. A walk through a list reads here which
-- places executions had when it began. `executions` cannot tell, because merges remove older rows.
CREATE TABLE IF NOT EXISTS execution_versions
(
    project_id LowCardinality(String),
    trace_id FixedString(16),
    summarized_at DateTime64(3, 'UTC'),
    version UInt64,
    received_at DateTime64(3, 'UTC'),
    retention_days UInt16,
    start_unix_nano UInt64,
    end_unix_nano UInt64,
    total_tokens UInt64,
    cost_nano_usd Nullable(Int64)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(summarized_at)
ORDER BY (project_id, trace_id, summarized_at)
-- as in `spans`
TTL toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + retention_days * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
SETTINGS index_granularity = 1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS execution_versions_view TO execution_versions AS
SELECT project_id, trace_id, summarized_at, version, received_at, retention_days,
       start_unix_nano, end_unix_nano, total_tokens, cost_nano_usd
FROM executions;
