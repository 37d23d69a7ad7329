-- Budgets count what was spent in a month, so the facts of its executions are kept for 35 days also where the spans and
-- executions are kept for fewer. Stats and analytics leave them out (src/domains/analytics/retained.ts). Parts that
-- exist get the new time with their next merge.
ALTER TABLE execution_facts MODIFY TTL
    toDateTime(least(toUInt64(toUnixTimestamp(received_at)) + greatest(retention_days, 35) * 86400, 4294967295))
    DELETE WHERE retention_days BETWEEN 1 AND 28000
SETTINGS materialize_ttl_after_modify = 0;
