import type { UserId, WorkspaceId } from '../../../lib/ids.ts';
import type { Role, WorkspaceScope } from '../../workspaces/index.ts';

/** What is stored of a user and needed to admit a request. */
export interface UserRecord {
  userId: UserId;
  subject: string;
  /** A deleted user stays known, to be refused. */
  deleted: boolean;
  personalWorkspaceId: WorkspaceId | undefined;
  memberships: ReadonlyMap<string, Membership>;
}

export interface Membership {
  workspace: WorkspaceScope;
  role: Role;
  /** The identity provider's id of the organisation, unless the workspace is personal. */
  orgId: string | undefined;
}
