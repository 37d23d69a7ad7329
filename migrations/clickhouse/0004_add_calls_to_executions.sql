-- What analytics and budgets read: the model calls of a trace, each counted once, beside the sums
-- that the same row has. Their user and environment are those of the row. A new summary of a trace
-- replaces both (src/domains/summaries/execution-calls.ts).
ALTER TABLE executions
    ADD COLUMN IF NOT EXISTS calls Array(Tuple(
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
        kind LowCardinality(String),
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
    ADD COLUMN IF NOT EXISTS errors Array(Tuple(type LowCardinality(String), spans UInt32));
