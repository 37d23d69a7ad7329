import type { z } from 'zod';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findWorkspace, listProjects, type Project, roleSuffices } from '../workspaces/index.ts';
import type { contextSchema } from './auth.schema.ts';
import { findKeyFacts, findUserFacts } from './me-store.ts';
import { type Principal, type UserPrincipal, workspaceOf } from './principal.ts';
import { leastRoleOf } from './roles.ts';
import { scopes } from './scopes.ts';

type Context = z.infer<typeof contextSchema>;

const projectsMax = 1_000;

/** Describes who the caller is, where they act and what they may do there. */
export async function describeContext({ postgres }: { postgres: Postgres }, principal: Principal): Promise<Context> {
  const onlyId = principal.type === 'api_key' ? principal.project.projectId : undefined;
  const workspaceId = workspaceOf(principal)?.id;
  const [workspace, projects, who] = await Promise.all([
    workspaceId === undefined ? undefined : findWorkspace(postgres, workspaceId),
    workspaceId === undefined ? [] : listProjects(postgres, { workspaceId, onlyId, limit: projectsMax }),
    describeWho(postgres, principal),
  ]);
  return {
    ...who,
    workspace: workspace ? { id: workspace.id, name: workspace.name, plan: workspace.plan } : null,
    default_project_id: onlyId ?? defaultOf(projects)?.id ?? null,
    projects: projects.map(({ id, name, isDefault }) => ({ id, name, is_default: isDefault })),
    server_time: new Date().toISOString(),
  };
}

/** Returns the project that is marked as default, otherwise the oldest. */
function defaultOf(projects: readonly Project[]): Project | undefined {
  return projects.find(({ isDefault }) => isDefault) ?? projects[0];
}

async function describeWho(
  postgres: Postgres,
  principal: Principal,
): Promise<Pick<Context, 'auth_type' | 'scopes' | 'user' | 'key' | 'role'>> {
  if (principal.type === 'user') return describeUser(postgres, principal);
  if (principal.type !== 'api_key') return { auth_type: 'admin', scopes: [...scopes] };
  const key = await findKeyFacts(postgres, { projectId: principal.project.projectId, keyId: principal.keyId });
  return {
    auth_type: 'api_key',
    scopes: scopes.filter((scope) => principal.scopes.has(scope)),
    ...(key && { key: { id: key.id, name: key.name, expires_at: key.expires_at?.toISOString() ?? null } }),
  };
}

async function describeUser(postgres: Postgres, { userId, subject, role }: UserPrincipal) {
  const facts = await findUserFacts(postgres, userId);
  return {
    auth_type: 'jwt' as const,
    role,
    scopes: scopes.filter((scope) => roleSuffices(role, leastRoleOf[scope])),
    user: { id: userId, subject, email: facts?.email ?? null, name: facts?.name ?? null },
  };
}
