/** What a member may do in a workspace, each including those before it. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const;

export type Role = (typeof roles)[number];

/** Whether `role` allows what `least` allows. */
export function roleSuffices(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least);
}
