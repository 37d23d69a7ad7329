/**
 * Of every query of a list. It fails rather than run longer or read more than this; and it reads many small pieces, for which handing
 * each to a thread of its own costs more than reading it.
 */
export const listSettings = {
  max_execution_time: 10,
  max_rows_to_read: '500000000',
  local_filesystem_read_method: 'pread',
} as const;
