/**
 * SQL for whether a row of `execution_facts` is within its retention. Budgets also count rows that are not, which are
 * kept for 35 days.
 */
export const isRetained = '(retention_days = 0 OR received_at > now64(3) - toIntervalDay(retention_days))';
