import type { ProjectId } from '../../lib/ids.ts';
import type { AuditActor } from '../audit/index.ts';
import type { Role } from './role.ts';

/** Who asks, as far as workspaces care; how they proved it is the business of `auth`. */
export interface Caller {
  actor: AuditActor;
  authority: Role | 'operator';
  /** The one project an API key sees; undefined for people. */
  onlyProjectId: ProjectId | undefined;
}
