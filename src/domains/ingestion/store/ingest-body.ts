import type { Signal } from '../../../otlp/signal.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import type { JobFacts } from '../../../queue/job-facts.ts';
import type { LogProjects } from '../../../queue/log-projects.ts';
import type { Redis } from '../../../stores/redis/client.ts';
import { bodyKey } from '../../../stores/redis/names.ts';
import type { OverrideCache, PriceOverrides } from '../../pricing/index.ts';
import type { BodyEncoder } from './body-encoder.ts';
import { BadBodyError } from './body-errors.ts';
import type { EncodedBody } from './encode-body.ts';
import type { SpanBatcher } from './span-batcher.ts';
import { RowsRefusedError } from './store-batch.ts';
import type { HoldBody } from './work-lanes.ts';

export interface IngestBodyDeps {
  redis: Redis;
  /** Collects the rows of each signal. */
  batchers: Readonly<Record<Signal, SpanBatcher>>;
  logProjects: LogProjects;
  hold: HoldBody;
  encoder: BodyEncoder;
  priceOverrides: OverrideCache;
}

/** The body is not in Redis: it is lost, or another worker has stored and dropped it meanwhile. */
export class MissingBodyError extends BadBodyError {
  constructor(key: string) {
    super(`The body ${key} is not in Redis`);
    this.name = 'MissingBodyError';
  }
}

/**
 * Stores the spans or log records of one received body. Resolves once ClickHouse has confirmed its
 * rows, and the executions they belong to are stored or on the list of summaries.
 * @throws BadBodyError or a certain RowsRefusedError when no retry can help; after any other error
 * a retry can
 */
export async function ingestBody(
  deps: IngestBodyDeps,
  { id: jobId, isRepeated }: Pick<JobFacts, 'id' | 'isRepeated'>,
  payload: IngestBodyPayload,
): Promise<void> {
  // This runs before the memory is held, so that a wait for Postgres blocks no other body.
  const overrides = await deps.priceOverrides.of(payload);
  const { signal = 'traces' } = payload;
  if (signal === 'logs') await deps.logProjects.note(payload.projectId);
  await deps.hold(payload, async () => {
    const encoded = await loadRows(deps, jobId, payload, overrides);
    const entry = {
      jobId,
      receivedAtMs: payload.receivedAtMs,
      projectId: payload.projectId,
      workspaceId: payload.workspaceId,
      encoded,
      isJoined: deps.logProjects.isKnown(payload.projectId),
      isRepeated,
    };
    if (encoded.spanCount > 0) await deps.batchers[signal].add(entry);
    if (encoded.outcomes === undefined) return;
    const { countLogs } = await import('../../../queue/log-counts.ts');
    await countLogs(deps.redis, encoded.outcomes);
  });
}

/** Tells whether no retry of the body can help. */
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
  // Without a body nothing can be stored, and the job must not look as if it succeeded.
  if (body === null) throw new MissingBodyError(key);
  return deps.encoder.encode(payload, body, overrides);
}
