import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { deleteInSlices } from '../../../stores/postgres/delete-in-slices.ts';

/** A body that could not be stored as spans, with the reason. */
export interface QuarantinedBody {
  jobId: string;
  projectId: string;
  reason: string;
  attempts: number;
  job: IngestBodyPayload;
  bodyBytes: number;
  quarantinedAt: Date;
  replayedAt: Date | null;
}

interface Row {
  job_id: string;
  project_id: string;
  reason: string;
  attempts: number;
  job: IngestBodyPayload;
  body_bytes: number;
  quarantined_at: Date;
  replayed_at: Date | null;
}

const columns = ['job_id', 'project_id', 'reason', 'attempts', 'job', 'quarantined_at', 'replayed_at'] as const;
const reasonCharactersMax = 4_000;
const keptMs = 30 * 24 * 60 * 60 * 1_000;
/** Entries that one statement deletes: a body has up to 16 MiB. */
const prunedAtOnce = 100;

/**
 * Stores the body. A body that returns after a replay replaces its entry, unless its bytes are
 * already gone from Redis.
 */
export async function insertQuarantinedBody(
  postgres: Postgres,
  entry: { jobId: string; job: IngestBodyPayload; reason: string; attempts: number; body: Buffer },
): Promise<void> {
  const insert = postgres('quarantined_bodies')
    .insert({
      job_id: entry.jobId,
      project_id: entry.job.projectId,
      reason: entry.reason.replaceAll('\0', '\uFFFD').slice(0, reasonCharactersMax),
      attempts: entry.attempts,
      job: JSON.stringify(entry.job),
      body: entry.body,
      quarantined_at: new Date(),
      replayed_at: null,
    })
    .onConflict('job_id');
  await (entry.body.length > 0 ? insert.merge() : insert.ignore());
}

/** Returns one page of entries, newest first, without the bodies. */
export async function listQuarantinedBodies(
  postgres: Postgres,
  page: { before: { quarantinedAt: string; jobId: string } | undefined; limit: number },
): Promise<QuarantinedBody[]> {
  const select = postgres('quarantined_bodies')
    .select<Row[]>(...columns, postgres.raw('length(body) as body_bytes'))
    .orderBy([
      { column: 'quarantined_at', order: 'desc' },
      { column: 'job_id', order: 'desc' },
    ])
    .limit(page.limit);
  if (page.before !== undefined) {
    const { quarantinedAt, jobId } = page.before;
    select.whereRaw('(quarantined_at, job_id) < (?::timestamptz, ?)', [quarantinedAt, jobId]);
  }
  return (await select).map(toQuarantinedBody);
}

/** Returns one entry with its body, or undefined. */
export async function findQuarantinedBody(
  postgres: Postgres,
  jobId: string,
): Promise<(QuarantinedBody & { body: Buffer }) | undefined> {
  const row = await postgres('quarantined_bodies')
    .where('job_id', jobId)
    .first<(Row & { body: Buffer }) | undefined>(...columns, 'body', postgres.raw('length(body) as body_bytes'));
  return row && { ...toQuarantinedBody(row), body: row.body };
}

/**
 * Marks an entry as replayed, unless it was replaced meanwhile: a worker may refuse the body again
 * before the replay is noted.
 */
export async function markReplayed(
  postgres: Postgres,
  { jobId, quarantinedAt }: Pick<QuarantinedBody, 'jobId' | 'quarantinedAt'>,
): Promise<void> {
  await postgres('quarantined_bodies')
    .where({ job_id: jobId, quarantined_at: quarantinedAt })
    .update({ replayed_at: new Date() });
}

/**
 * Deletes entries older than 30 days.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function pruneQuarantine(
  { postgres }: { postgres: Postgres },
  { nowMs = Date.now() }: { nowMs?: number } = {},
): Promise<void> {
  const old = postgres('quarantined_bodies')
    .where('quarantined_at', '<', new Date(nowMs - keptMs))
    .orderBy('quarantined_at')
    .limit(prunedAtOnce)
    .select('job_id');
  await deleteInSlices(prunedAtOnce, () => postgres('quarantined_bodies').whereIn('job_id', old.clone()).delete());
}

function toQuarantinedBody(row: Row): QuarantinedBody {
  return {
    jobId: row.job_id,
    projectId: row.project_id,
    reason: row.reason,
    attempts: row.attempts,
    job: row.job,
    bodyBytes: row.body_bytes,
    quarantinedAt: row.quarantined_at,
    replayedAt: row.replayed_at,
  };
}
