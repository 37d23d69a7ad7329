import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import type { Redis } from '../../../stores/redis/client.ts';
import { bodyKey } from '../../../stores/redis/names.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import { insertQuarantinedBody } from './quarantine-store.ts';

export interface QuarantineBodyDeps {
  redis: Redis;
  postgres: Postgres;
  logger: Logger;
}

/**
 * Moves a body that cannot be stored to the quarantine with its reason, where an admin can list and
 * replay it. Resolves once it is durable there.
 */
export async function quarantineBody(
  deps: QuarantineBodyDeps,
  entry: { jobId: string; job: IngestBodyPayload; reason: string; attempts: number },
): Promise<void> {
  const body = (await deps.redis.getBuffer(bodyKey(entry.job.projectId, entry.jobId))) ?? Buffer.alloc(0);
  await insertQuarantinedBody(deps.postgres, { ...entry, body });
  deps.logger.error({ job_id: entry.jobId, project_id: entry.job.projectId, reason: entry.reason }, 'body quarantined');
}
