import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isScope, leastRoleOf } from '../../src/domains/auth/index.ts';
import type { Access } from '../../src/http/endpoint.ts';
import { newId } from '../../src/lib/ids.ts';
import { newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { newUser, tokenFor } from '../support/users.ts';

/** Every contract there is, against every kind of credential: what `authorise` decides, before any handler. */
let api: TestApi;
let own: ProjectOfTest;
let foreign: ProjectOfTest;
const tokens: Record<string, string> = {};
let readOnlyKey: string;
let revokedKey: string;
let expiredKey: string;

beforeAll(async () => {
  api = await startApi();
  [own, foreign] = [await newProject(api), await newProject(api)];
  for (const role of ['viewer', 'member', 'admin', 'owner'] as const) {
    tokens[role] = (await newUser(api, { workspaceId: own.workspaceId, role })).token;
  }
  readOnlyKey = (await newKey(api, own.id, { scopes: ['analytics:read'] })).key;
  const [revoked, expired] = [await newKey(api, own.id, {}), await newKey(api, own.id, {})];
  await api.postgres('api_keys').where({ id: revoked.id }).update({ revoked_at: new Date() });
  await api
    .postgres('api_keys')
    .where({ id: expired.id })
    .update({ expires_at: new Date(Date.now() - 1) });
  [revokedKey, expiredKey] = [revoked.key, expired.key];
});
afterAll(() => api.close());

interface Ids {
  workspace_id: string;
  project_id: string;
}

const idsOf = (project: ProjectOfTest): Ids => ({ workspace_id: project.workspaceId, project_id: project.id });

function closedContracts() {
  return api.container.endpoints.filter(({ access }) => !('open' in access));
}

/** Status and text of a call without a body, which no handler that writes accepts; the ids and the request's own are taken out. */
async function answerOf(contract: { method: string; path: string }, ids: Ids, headers: Record<string, string>) {
  const values: Readonly<Record<string, string>> = { ...ids };
  const path = contract.path.replaceAll(/\{(\w+)\}/g, (_, name) => values[name] ?? 'absent');
  const response = await fetch(api.url + path, {
    method: contract.method,
    headers: { ...headers, 'X-Request-Id': 'same' },
  });
  const text = await response.text();
  return { status: response.status, text: text.replaceAll(ids.workspace_id, '').replaceAll(ids.project_id, '') };
}

/** What the first stage answers; 0 when it lets the request through. */
function refusalFor(access: Access, role: keyof typeof leastRoles): number {
  if ('operator' in access) return 403;
  if ('role' in access) return leastRoles[role] >= leastRoles[access.role] ? 0 : 403;
  if ('scope' in access && isScope(access.scope))
    return leastRoles[role] >= leastRoles[leastRoleOf[access.scope]] ? 0 : 403;
  return 0;
}
const leastRoles = { viewer: 0, member: 1, admin: 2, owner: 3 };

describe('every closed contract', () => {
  test('names a scope that keys can have', () => {
    for (const { operationId, access } of closedContracts()) {
      if ('scope' in access) expect(isScope(access.scope), operationId).toBe(true);
    }
  });

  test('is 401 without a credential and for every kind of wrong one', async () => {
    const tampered = `${own.key.slice(0, -1)}${own.key.endsWith('0') ? '1' : '0'}`;
    const wrong: Record<string, string>[] = [
      {},
      { 'X-API-Key': 'nonsense' },
      { 'X-API-Key': tampered },
      { 'X-API-Key': revokedKey },
      { 'X-API-Key': expiredKey },
      { 'X-Admin-Key': own.key },
      { 'X-Admin-Key': api.config.adminApiKey, 'X-API-Key': own.key },
      { Authorization: 'Bearer nonsense' },
      { Authorization: `Bearer ${own.key}` },
      { Authorization: `Bearer ${tokenFor(api, 'user_x', { exp: 1 })}` },
    ];
    for (const contract of closedContracts()) {
      for (const headers of wrong) {
        const { status } = await answerOf(contract, idsOf(own), headers);
        expect(status, `${contract.operationId} with ${Object.keys(headers)}`).toBe(401);
      }
    }
  });

  test('is 403 for a key without the scope, and for any key where people or the operator are meant', async () => {
    for (const contract of closedContracts()) {
      const { access, operationId } = contract;
      if ('authenticated' in access || ('scope' in access && access.scope === 'analytics:read')) continue;
      const { status } = await answerOf(contract, idsOf(own), { 'X-API-Key': readOnlyKey });
      expect(status, operationId).toBe(403);
    }
  });

  test.each(['viewer', 'member', 'admin', 'owner'] as const)('is for the role %s as the table says', async (role) => {
    for (const contract of closedContracts()) {
      // It takes keys only, by a decision of its own.
      if (contract.operationId === 'exportTraces' || contract.operationId === 'getContext') continue;
      const ids = { ...idsOf(own), project_id: own.id };
      if (!contract.path.includes('{workspace_id}') && !contract.path.includes('{project_id}')) continue;
      const { status, text } = await answerOf(contract, ids, { Authorization: `Bearer ${tokens[role]}` });
      const refused = status === 403 && /insufficient_role|admin_required/.test(text);
      expect(refused ? 403 : 0, `${contract.operationId} as ${role}: ${status} ${text}`).toBe(
        refusalFor(contract.access, role),
      );
    }
  });

  test('answers foreign and unknown ids in the same bytes, and never lets them through', async () => {
    const unknown = { workspace_id: newId('wsp'), project_id: newId('prj') };
    const credentials = [{ 'X-API-Key': own.key }, { Authorization: `Bearer ${tokens.owner}` }];
    for (const contract of closedContracts()) {
      if (!contract.path.includes('{workspace_id}') && !contract.path.includes('{project_id}')) continue;
      for (const headers of credentials) {
        const answers = await Promise.all([
          answerOf(contract, idsOf(foreign), headers),
          answerOf(contract, unknown, headers),
        ]);
        expect(answers[0], contract.operationId).toEqual(answers[1]);
        const expected = 'role' in contract.access && 'X-API-Key' in headers ? 403 : 404;
        expect(answers[0]?.status, contract.operationId).toBe(expected);
      }
    }
  });
});
