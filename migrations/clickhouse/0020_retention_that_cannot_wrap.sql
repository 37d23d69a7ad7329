-- The end of a row's life was counted as a DateTime, which ends in 2106 and starts again in 1970: a retention of 30,000 days deleted at
-- once. Counted in seconds it stops at that end. A longer retention than 28,000 days (src/domains/workspaces/plan-overrides.ts), which
-- an earlier version allowed, keeps for ever. Parts are not rewritten for it: merges apply it as they come.
ALTER TABLE spans MODIFY TTL
    toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + retention_days * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
    SETTINGS materialize_ttl_after_modify = 0;

ALTER TABLE executions MODIFY TTL
    toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + retention_days * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
    SETTINGS materialize_ttl_after_modify = 0;

ALTER TABLE execution_versions MODIFY TTL
    toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + retention_days * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
    SETTINGS materialize_ttl_after_modify = 0;
