import type { CallOptions, CreatedKey, TestApi } from './api.ts';

/** An API key as the list and the detail answer it. */
export interface ApiKeyOnWire extends Omit<CreatedKey, 'key'> {
  last_used_at: string | null;
  revoked_at: string | null;
}

/** The secret of `pl_<id>_<secret>_<checksum>`, which may have underscores itself. */
export function secretOf(key: string): string {
  return key.slice(-50, -7);
}

/** Whether a key still opens its project. */
export async function opens(api: TestApi, projectId: string, key: string): Promise<boolean> {
  const answer = await api.call('listApiKeys', { params: { project_id: projectId }, key });
  return answer.status === 200;
}

/** One audit record as it is answered. */
export interface AuditRecordOnWire {
  id: string;
  at: string;
  actor: { type: string; id: string | null };
  action: string;
  target: { type: string; id: string };
  project_id: string | null;
  details: Record<string, unknown>;
  request_id: string | null;
}

/** What the log of a workspace says of one target, oldest first. */
export async function auditOf(api: TestApi, workspaceId: string, targetId: string): Promise<AuditRecordOnWire[]> {
  const options: CallOptions = { params: { workspace_id: workspaceId }, query: { limit: 100 } };
  const { data } = await api.admin<{ data: AuditRecordOnWire[] }>('listAuditLog', options, 200);
  return data.filter(({ target }) => target.id === targetId).reverse();
}
