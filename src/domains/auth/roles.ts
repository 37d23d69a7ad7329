import type { Role } from '../workspaces/index.ts';
import type { Scope } from './scopes.ts';

/** The least role a user needs for what a key needs the scope for. */
export const leastRoleOf: Readonly<Record<Scope, Role>> = {
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
};
