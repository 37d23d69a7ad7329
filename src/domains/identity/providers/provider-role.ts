import { type Role, roles } from '../../workspaces/index.ts';

/**
 * Maps a provider's role by its name without prefix (`org:admin` is `admin`). Any other role
 * becomes `viewer`.
 */
export function roleNamed(name: string | null | undefined): Role {
  const bare = (name ?? '').replace(/^.*:/, '').toLowerCase();
  return roles.find((role) => role === bare) ?? 'viewer';
}
