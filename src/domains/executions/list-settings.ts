/** Every query of a list is bounded: it fails rather than run longer or read more than this. */
export const listSettings = { max_execution_time: 10, max_rows_to_read: '500000000' } as const;
