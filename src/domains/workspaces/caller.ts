import type { ProjectId } from '../../lib/ids.ts';
import type { AuditActor } from '../audit/index.ts';
import type { Role } from './workspace.ts';

/** The caller, as far as workspaces need to know. The `auth` domain checks credentials. */
export interface Caller {
  actor: AuditActor;
  authority: Role | 'operator';
  /** The only project that an API key can access; undefined for people. */
  onlyProjectId: ProjectId | undefined;
}
