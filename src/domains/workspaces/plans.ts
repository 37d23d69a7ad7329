/** Retention in days from the time of receipt; 0 keeps for ever. */
export const plans = {
  free: { retentionDays: 30 },
  pro: { retentionDays: 90 },
  team: { retentionDays: 365 },
  enterprise: { retentionDays: 0 },
} as const satisfies Record<string, { retentionDays: number }>;

export type PlanName = keyof typeof plans;

/** Narrows a stored plan name. Throws when the database holds a plan this version does not know. */
export function planNamed(name: string): PlanName {
  if (!Object.hasOwn(plans, name)) throw new Error(`Unknown plan ${JSON.stringify(name)} in the workspaces table`);
  return name as PlanName;
}
