import { type Role, roles } from '../../workspaces/index.ts';

/** A provider's role by its name without prefix (`org:admin` is `admin`); any other may only look. */
export function roleNamed(name: string | null | undefined): Role {
  const bare = (name ?? '').replace(/^.*:/, '').toLowerCase();
  return roles.find((role) => role === bare) ?? 'viewer';
}
