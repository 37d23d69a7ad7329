import type { Scope } from '../../../src/domains/auth/index.ts';
import type { Access, Contract } from '../../../src/http/endpoint.ts';
import type { Credential, Holder } from './credentials.ts';
import type { Role, Tenants } from './tenants.ts';

/** The refusal of authorization. Undefined if the handler decides. */
export type Refusal = { status: number; codes: readonly string[] } | undefined;

/** The expected rights, written independently of the product, to compare with its tables. */
const leastRoles = {
  'prompts:read': 'viewer',
  'prompts:write': 'member',
  'traces:write': 'member',
  'executions:read': 'viewer',
  'executions:write': 'member',
  'analytics:read': 'viewer',
  'budgets:read': 'viewer',
  'budgets:write': 'admin',
  'optimize:run': 'member',
  'keys:read': 'admin',
  'feedback:write': 'member',
} as const satisfies Record<Scope, Role>;

const ranks: Readonly<Record<Role, number>> = { viewer: 0, member: 1, admin: 2, owner: 3 };

/** Spans belong to a project, which only a key determines. */
const keysOnly: ReadonlySet<string> = new Set(['exportTraces', 'exportLogs', 'exportMetrics']);

/** The operator has no project of its own, and the body of the matrix names none. */
const projectInBody: ReadonlySet<string> = new Set(['createFeedback']);

const unauthenticated = { status: 401, codes: ['credentials_required', 'invalid_credentials'] };
const forbidden = (code: string) => ({ status: 403, codes: [code] });
const notFound = { status: 404, codes: ['project_not_found', 'workspace_not_found'] };

/** Returns the expected response for a credential and a path with these ids. Throws for an unknown access. */
export function refusalFor(
  contract: Pick<Contract, 'operationId' | 'access'>,
  { holder }: Credential,
  ids: Readonly<Record<string, string>>,
  tenants: Tenants,
): Refusal {
  const { access } = contract;
  if ('open' in access) return undefined;
  if (holder === undefined) return unauthenticated;
  const refused = refusalOfHolder(access, holder, ids, tenants);
  if (refused !== undefined) return refused;
  if (holder.type === 'operator' && projectInBody.has(contract.operationId))
    return { status: 422, codes: ['invalid_body'] };
  return holder.type !== 'key' && keysOnly.has(contract.operationId) ? forbidden('api_key_required') : undefined;
}

function refusalOfHolder(
  access: Exclude<Access, { open: true }>,
  holder: Holder,
  ids: Readonly<Record<string, string>>,
  tenants: Tenants,
): Refusal {
  const sought = soughtBy(ids, tenants);
  if (holder.type === 'operator') return sought === 'unknown' ? notFound : undefined;
  if ('admin' in access) return forbidden('admin_required');
  if (holder.type === 'key') {
    if ('role' in access) return forbidden('admin_required');
    if ('scope' in access && !holder.scopes.has(access.scope)) return forbidden('insufficient_scope');
    if (sought === 'nothing') return undefined;
    const isOwn =
      sought !== 'unknown' &&
      sought.workspaceId === holder.workspaceId &&
      (sought.projectId ?? holder.projectId) === holder.projectId;
    return isOwn ? undefined : notFound;
  }
  // A user owns the personal workspace, which applies if the path does not name a workspace.
  if (sought === 'nothing') return undefined;
  if (sought === 'unknown' || sought.workspaceId !== holder.workspaceId) return notFound;
  return ranks[holder.role] >= ranks[leastRoleOf(access)] ? undefined : forbidden('insufficient_role');
}

function leastRoleOf(access: Exclude<Access, { open: true } | { admin: true }>): Role {
  if ('role' in access) return access.role;
  if ('authenticated' in access) return 'viewer';
  const found = Object.entries(leastRoles).find(([scope]) => scope === access.scope);
  if (found === undefined) throw new Error(`The matrix has no role for the scope ${access.scope}`);
  return found[1];
}

interface Sought {
  workspaceId: string;
  projectId: string | undefined;
}

function soughtBy(ids: Readonly<Record<string, string>>, tenants: Tenants): Sought | 'nothing' | 'unknown' {
  const { workspace_id: workspaceId, project_id: projectId } = ids;
  if (workspaceId === undefined && projectId === undefined) return 'nothing';
  const projects = [tenants.own, tenants.sibling, tenants.foreign].map(({ project }) => project);
  const found = projects.find((project) =>
    projectId === undefined ? project.workspaceId === workspaceId : project.id === projectId,
  );
  if (found === undefined || (workspaceId ?? found.workspaceId) !== found.workspaceId) return 'unknown';
  return { workspaceId: found.workspaceId, projectId };
}
