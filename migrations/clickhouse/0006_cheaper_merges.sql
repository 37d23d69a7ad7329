-- Merges cost as much as inserts did: they now go column by column, and begin at twenty parts. The primary key finds a
-- trace, so the bloom filter on its id was never used; statistics are not either.
ALTER TABLE spans DROP INDEX IF EXISTS trace_id_bloom;
ALTER TABLE spans MODIFY SETTING
    merge_selector_base = 60,
    vertical_merge_algorithm_min_rows_to_activate = 1,
    vertical_merge_algorithm_min_columns_to_activate = 1,
    auto_statistics_types = '';
ALTER TABLE executions MODIFY SETTING auto_statistics_types = '';
