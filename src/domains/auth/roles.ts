import type { Role } from '../workspaces/index.ts';
import type { Scope } from './scopes.ts';

/** The lowest role that a user needs for operations for which an API key needs the scope. */
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
