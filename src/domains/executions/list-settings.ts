/**
 * ClickHouse settings of every list query. A query that needs more than 10 s, reads more rows or
 * takes more than 1 GB fails, so that four at a time leave memory for others. Lists read many small pieces, and handing each to another thread would cost more than
 * reading it (`pread`). A set of more than 10,000 trace ids is not matched against the index,
 * because the index would exclude almost nothing. No list uses the table's order, and checking for
 * it takes 2 ms.
 */
export const listSettings = {
  max_execution_time: 10,
  max_rows_to_read: '500000000',
  max_memory_usage: '1000000000',
  local_filesystem_read_method: 'pread',
  use_index_for_in_with_subqueries_max_values: '10000',
  optimize_read_in_order: 0,
} as const;
