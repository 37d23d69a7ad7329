/** Endpoint settings that all reads of executions share. */
export const reading = {
  tag: 'executions',
  access: { scope: 'executions:read' },
  rateClass: 'read',
  lane: 'analysis',
  method: 'GET',
} as const;
