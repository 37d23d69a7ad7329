import { bodyKey } from '../../../queue/body-key.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import type { Redis } from '../../../stores/redis/client.ts';
import type { OverrideCache, PriceOverrides } from '../../pricing/index.ts';
import { BadBodyError } from './bad-body.ts';
import type { BodyEncoder } from './body-encoder.ts';
import type { EncodedBody } from './encode-body.ts';
import type { SpanBatcher } from './span-batcher.ts';
import { RowsRefusedError } from './store-batch.ts';
import type { HoldBody } from './work-lanes.ts';

export interface IngestBodyDeps {
  redis: Redis;
  batcher: SpanBatcher;
  hold: HoldBody;
  encoder: BodyEncoder;
  priceOverrides: OverrideCache;
}

/** The body is not in Redis: lost, or dropped by who has stored it meanwhile. */
export class MissingBodyError extends BadBodyError {
  constructor(key: string) {
    super(`The body ${key} is not in Redis`);
    this.name = 'MissingBodyError';
  }
}

/**
 * One received body to stored spans. Resolves once the engine has confirmed its rows and the executions they belong to. Throws
 * BadBodyError or a certain RowsRefusedError when no repetition can help; anything else is worth another try.
 */
export async function ingestBody(deps: IngestBodyDeps, jobId: string, payload: IngestBodyPayload): Promise<void> {
  // Before the memory is held: who waits for the database holds up nobody who does not.
  const overrides = await deps.priceOverrides.of(payload.projectId);
  await deps.hold(payload, async () => {
    const encoded = await loadRows(deps, jobId, payload, overrides);
    await deps.batcher.add({
      jobId,
      receivedAtMs: payload.receivedAtMs,
      projectId: payload.projectId,
      workspaceId: payload.workspaceId,
      encoded,
    });
  });
}

export function isHopeless(error: unknown): error is Error {
  return error instanceof BadBodyError || (error instanceof RowsRefusedError && error.isCertain);
}

async function loadRows(
  deps: IngestBodyDeps,
  jobId: string,
  payload: IngestBodyPayload,
  overrides: PriceOverrides,
): Promise<EncodedBody> {
  const key = bodyKey(payload.projectId, jobId);
  const body = await deps.redis.getBuffer(key);
  // Nothing can be stored, and nothing must look as if it were.
  if (body === null) throw new MissingBodyError(key);
  return deps.encoder.encode(payload, body, overrides);
}
