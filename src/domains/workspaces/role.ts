/** Roles of a member in a workspace. Each includes the rights of those before it. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const;

export type Role = (typeof roles)[number];

/** Returns whether `role` includes the rights of `least`. */
export function roleSuffices(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least);
}
