/**
 * Of every query of a list. It fails rather than run longer or read more than this; and it reads many small pieces, for which handing
 * each to a thread of its own costs more than reading it. A set of more traces than that excludes hardly anything by the index. No list
 * is in the order of the table, and looking whether it is takes 2 ms.
 */
export const listSettings = {
  max_execution_time: 10,
  max_rows_to_read: '500000000',
  local_filesystem_read_method: 'pread',
  use_index_for_in_with_subqueries_max_values: '10000',
  optimize_read_in_order: 0,
} as const;
