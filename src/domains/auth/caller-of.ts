import type { AuditActor } from '../audit/index.ts';
import type { Caller } from '../workspaces/index.ts';
import type { Principal } from './principal.ts';

/** Converts a principal to the actor of an audit entry. */
export function auditActorOf(principal: Principal, requestId: string): AuditActor {
  if (principal.type === 'user') return { type: 'user', id: principal.userId, requestId };
  if (principal.type === 'api_key') return { type: 'api_key', id: principal.keyId, requestId };
  return { type: principal.type === 'admin' ? 'admin' : 'system', id: null, requestId };
}

/** Converts a principal to the caller that the workspaces domain uses. */
export function callerOf(principal: Principal, requestId: string): Caller {
  return {
    actor: auditActorOf(principal, requestId),
    authority: authorityOf(principal),
    onlyProjectId: principal.type === 'api_key' ? principal.project.projectId : undefined,
  };
}

function authorityOf(principal: Principal): Caller['authority'] {
  if (principal.type === 'admin') return 'operator';
  // Routes that need a role have already refused API keys.
  return principal.type === 'user' ? principal.role : 'viewer';
}
