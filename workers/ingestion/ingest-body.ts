import type { OtlpLimits } from '../../src/domains/ingestion/index.ts';
import { bodyKey } from '../../src/queue/body-key.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import type { Redis } from '../../src/stores/redis/client.ts';
import { encodeBody } from './encode-body.ts';
import type { SpanBatcher } from './span-batcher.ts';
import type { WorkBudget } from './work-budget.ts';

export interface IngestBodyDeps {
  redis: Redis;
  batcher: SpanBatcher;
  budget: WorkBudget;
  limits: OtlpLimits;
}

/** The body that a job names is not there: nothing can be stored, and nothing must look as if it were. */
export class BodyMissingError extends Error {
  constructor(key: string) {
    super(`The body ${key} is not in Redis`);
    this.name = 'BodyMissingError';
  }
}

/** One received body to stored spans. Resolves once the engine has confirmed its rows and the executions they belong to. */
export async function ingestBody(deps: IngestBodyDeps, jobId: string, payload: IngestBodyPayload): Promise<void> {
  const encoded = await deps.budget.hold(payload.inflatedBytes, async () => {
    const key = bodyKey(payload.projectId, jobId);
    const body = await deps.redis.getBuffer(key);
    if (body === null) throw new BodyMissingError(key);
    return encodeBody(payload, body, deps.limits);
  });
  await deps.batcher.add({ projectId: payload.projectId, encoded });
}
