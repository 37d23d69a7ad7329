import { randomUUID } from 'node:crypto';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import type { IdentityChange, IdentityEvent } from '../../src/queue/identity-event.ts';
import { jobCatalog } from '../../src/queue/job-catalog.ts';
import type { Postgres } from '../../src/stores/postgres/client.ts';
import { connectWorkerRedis } from '../../src/stores/redis/client.ts';
import { until } from './until.ts';

/** An event of a Standard Webhooks sender that waits for the worker. */
export function identityEvent(
  occurredAtMs: number,
  change: IdentityChange,
  eventId = `evt_${randomUUID()}`,
): IdentityEvent {
  return { v: 1, provider: 'generic', eventId, type: `${change.kind}.${change.verb}`, occurredAtMs, change };
}

export interface IdentityState {
  users: { subject: string; email: string | null; name: string | null; deleted: number | null }[];
  workspaces: { organization: string; name: string; plan: string; deleted: number | null; defaultProjects: number }[];
  /** Current memberships. */
  members: { organization: string; subject: string; role: string }[];
  removed: { organization: string; subject: string; at: number }[];
}

/**
 * Returns the stored users and organizations whose provider ids begin with `prefix`. The result
 * contains neither the prefix nor ids of the service.
 */
export async function readIdentityState(postgres: Postgres, prefix: string): Promise<IdentityState> {
  const cut = (text: string) => text.slice(prefix.length);
  const users = await postgres('users').whereLike('subject', `${prefix}%`).orderBy('subject');
  const workspaces = await postgres('workspaces')
    .whereLike('external_org_id', `${prefix}%`)
    .orderBy('external_org_id')
    .select(
      '*',
      postgres.raw(
        `(select count(*)::int from projects where workspace_id = workspaces.id and is_default) as projects`,
      ),
    );
  const memberships = await postgres('memberships as m')
    .join('users as u', 'u.id', 'm.user_id')
    .join('workspaces as w', 'w.id', 'm.workspace_id')
    .whereLike('external_org_id', `${prefix}%`)
    .orderBy(['external_org_id', 'subject'])
    .select('external_org_id', 'subject', 'role', 'removed_at');
  return {
    users: users.map((row) => ({
      subject: cut(row.subject),
      email: row.email,
      name: row.name,
      deleted: row.deleted_at?.getTime() ?? null,
    })),
    workspaces: workspaces.map((row) => ({
      organization: cut(row.external_org_id),
      name: row.name.replace(prefix, ''),
      plan: row.plan,
      deleted: row.deleted_at?.getTime() ?? null,
      defaultProjects: row.projects,
    })),
    members: memberships
      .filter((row) => row.removed_at === null)
      .map((row) => ({ organization: cut(row.external_org_id), subject: cut(row.subject), role: row.role })),
    removed: memberships
      .filter((row) => row.removed_at !== null)
      .map((row) => ({
        organization: cut(row.external_org_id),
        subject: cut(row.subject),
        at: row.removed_at.getTime(),
      })),
  };
}

/** Queues an event that no version can read, waits until its job has failed, and returns the id of the job. */
export async function failIdentityEvent(redisUrl: string): Promise<string> {
  const redis = connectWorkerRedis(redisUrl);
  const queue = connectQueue(jobCatalog.applyIdentityEvent.queue, redis);
  try {
    const job = await queue.add('applyIdentityEvent', { v: 0 }, { jobId: `failed-${randomUUID()}` });
    await until('the event failed', 10_000, () => job.isFailed());
    return String(job.id);
  } finally {
    await queue.close();
    redis.disconnect();
  }
}
