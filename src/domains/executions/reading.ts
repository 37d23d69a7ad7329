/** What every read of executions has in common. */
export const reading = {
  tag: 'executions',
  access: { scope: 'executions:read' },
  rateClass: 'read',
  lane: 'analysis',
  method: 'GET',
} as const;
