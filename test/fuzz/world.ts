import { randomUUID } from 'node:crypto';
import { signToken } from '../support/jwks-server.ts';
import type { Stack } from '../support/stack.ts';
import { KnownIds } from './requests/ids.ts';

export const jwtSecret = 'jwt-secret-of-the-fuzzer, long enough';

/** A separate workspace with one project, a key with all scopes, and a token of its owner. */
export interface Tenant {
  workspaceId: string;
  projectId: string;
  apiKey: string;
  token: string;
}

export interface World {
  apiUrl: string;
  adminKey: string;
  attacker: Tenant;
  /** The innocent workspace. */
  canary: Tenant & { promptId: string };
  /** Ids of the attacker. */
  ids: KnownIds;
  /** The first export of the attacker's project. */
  exported: string;
}

export async function createWorld({ apiUrl, adminKey }: Pick<Stack, 'apiUrl' | 'adminKey'>): Promise<World> {
  const attacker = await createTenant(apiUrl, adminKey);
  const innocent = await createTenant(apiUrl, adminKey);
  const ids = new KnownIds();
  ids.keep('project_id', attacker.projectId);
  ids.keep('workspace_id', attacker.workspaceId);
  for (const name of ['label', 'version', 'identity_provider'])
    for (const value of fixed[name] ?? []) ids.keep(name, value);
  await furnish(apiUrl, attacker, ids);
  const prompt = await callJson(apiUrl, 'POST', `/api/projects/${innocent.projectId}/prompts`, innocent, {
    ...{ name: 'canary', type: 'text', template: 'Hello {{who}}' },
  });
  const exported = await fetch(`${apiUrl}/api/projects/${attacker.projectId}/prompts/export`, {
    headers: { 'X-API-Key': attacker.apiKey },
  });
  return {
    apiUrl,
    adminKey,
    attacker,
    canary: { ...innocent, promptId: String(prompt.id) },
    ids,
    exported: await exported.text(),
  };
}

const fixed: Readonly<Record<string, readonly string[]>> = {
  label: ['production', 'staging'],
  version: ['1', '2', '3'],
  identity_provider: ['generic', 'clerk', 'workos'],
};

async function createTenant(apiUrl: string, adminKey: string): Promise<Tenant> {
  const exp = Math.floor(Date.now() / 1_000) + 24 * 3_600;
  const token = signToken({ alg: 'HS256', typ: 'JWT' }, { sub: `user_${randomUUID()}`, exp }, jwtSecret);
  const context = await fetch(`${apiUrl}/api/me/context`, { headers: { Authorization: `Bearer ${token}` } });
  const { workspace, default_project_id: projectId } = (await context.json()) as {
    workspace: { id: string };
    default_project_id: string;
  };
  const response = await fetch(`${apiUrl}/api/projects/${projectId}/api-keys`, {
    method: 'POST',
    headers: { 'X-Admin-Key': adminKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'fuzz', preset: 'full' }),
  });
  const { key } = (await response.json()) as { key: string };
  return { workspaceId: workspace.id, projectId, apiKey: key, token };
}

/** Creates one resource of each kind that a path can name. */
async function furnish(apiUrl: string, tenant: Tenant, ids: KnownIds): Promise<void> {
  const project = `/api/projects/${tenant.projectId}`;
  const post = (path: string, body: unknown) => callJson(apiUrl, 'POST', project + path, tenant, body);
  const { id: partId } = await post('/parts', { name: 'base-part', slug: 'base-part', template: 'part of {{a}}' });
  ids.keep('part_id', String(partId));
  ids.keep('part_id', 'base-part');
  for (const [name, body] of Object.entries(basePrompts)) {
    const { id } = await post('/prompts', { name, labels: ['production'], ...body });
    ids.keep('prompt_id', String(id));
    await callJson(apiUrl, 'PUT', `${project}/prompts/${id}`, tenant, {
      ...body,
      commit_message: 'second',
      config: { n: 2 },
    });
  }
  const execution = await post('/executions', {
    name: 'base',
    input: 'in',
    output: 'out',
    model: 'gpt-4o',
    spans: [{ name: 'child', kind: 'llm' }],
  });
  ids.keep('trace_id', String(execution.trace_id));
  const list = await callJson(apiUrl, 'GET', `${project}/prompts?limit=1`, tenant);
  ids.harvest('listPrompts', list);
}

const basePrompts: Readonly<Record<string, object>> = {
  mustache: { type: 'text', template: 'Hello {{a}} {{#b}}{{.}}{{/b}} {{> base-part}}' },
  liquid: {
    type: 'text',
    template_format: 'liquid',
    template: "{% for i in a %}{{ i }}{% endfor %} {% render 'base-part' %}",
  },
  chat: { type: 'chat', messages: [{ role: 'system', content: 'You are {{a}}' }, { placeholder: 'history' }] },
  schema: {
    type: 'text',
    template: '{{a}}',
    input_schema: { properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
  },
};

async function callJson(
  apiUrl: string,
  method: string,
  path: string,
  { apiKey }: Tenant,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(apiUrl + path, {
    method,
    headers: { 'X-API-Key': apiKey, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} responded with ${response.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as Record<string, unknown>;
}
