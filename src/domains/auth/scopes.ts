export const scopes = [
  'prompts:read',
  'prompts:write',
  'traces:write',
  'executions:read',
  'executions:write',
  'analytics:read',
  'budgets:read',
  'budgets:write',
  'optimize:run',
  'keys:read',
  'feedback:write',
] as const;

export type Scope = (typeof scopes)[number];

/** Returns whether `text` is a scope that keys can have. */
export function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text);
}

export const presets = {
  full: scopes,
  read_only: ['prompts:read', 'executions:read', 'analytics:read', 'budgets:read', 'keys:read'],
  ingest_only: ['traces:write', 'executions:write', 'feedback:write'],
} as const satisfies Record<string, readonly Scope[]>;
