import type { UserId, WorkspaceId } from '../../../lib/ids.ts';
import type { Role, WorkspaceScope } from '../../workspaces/index.ts';

/** The stored data of a user that admits a request. */
export interface UserRecord {
  userId: UserId;
  subject: string;
  /** A deleted user stays in the database, so that their tokens are refused. */
  deleted: boolean;
  personalWorkspaceId: WorkspaceId | undefined;
  memberships: ReadonlyMap<string, Membership>;
}

export interface Membership {
  workspace: WorkspaceScope;
  role: Role;
  /** The identity provider's id of the organization; undefined for a personal workspace. */
  orgId: string | undefined;
}
