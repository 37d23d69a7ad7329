import { expect } from 'vitest';
import type { CallOptions, CreatedKey, TestApi } from './api.ts';

/** An API key as the list and the detail return it. */
export interface ApiKeyOnWire extends Omit<CreatedKey, 'key'> {
  last_used_at: string | null;
  revoked_at: string | null;
}

/** Returns whether a key still gives access to its project. */
export async function opens(api: TestApi, projectId: string, key: string): Promise<boolean> {
  const answer = await api.call('listApiKeys', { params: { project_id: projectId }, key });
  return answer.status === 200;
}

/** One audit record as the API returns it. */
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

/** Returns the audit records of one target in a workspace, oldest first. */
export async function auditOf(api: TestApi, workspaceId: string, targetId: string): Promise<AuditRecordOnWire[]> {
  const options: CallOptions = { params: { workspace_id: workspaceId }, query: { limit: 100 } };
  const { data } = await api.admin<{ data: AuditRecordOnWire[] }>('listAuditLog', options, 200);
  return data.filter(({ target }) => target.id === targetId).reverse();
}

/** Returns the secret part of a key: without the prefix, the id and the checksum. It may contain underscores. */
export function secretOf(key: string): string {
  return /^pl_[0-9A-Za-z]+_(.{43})_/.exec(key)?.[1] ?? expect.unreachable(`${key} is no key`);
}
