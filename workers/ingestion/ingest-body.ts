import type { OtlpLimits } from '../../src/domains/ingestion/index.ts';
import type { OverrideCache, PriceOverrides, PriceTable } from '../../src/domains/pricing/index.ts';
import type { KnownPrompts } from '../../src/domains/prompts/index.ts';
import { bodyKey } from '../../src/queue/body-key.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import type { Redis } from '../../src/stores/redis/client.ts';
import { type EncodedBody, encodeBody } from './encode-body.ts';
import type { SpanBatcher } from './span-batcher.ts';
import { RowsRefusedError } from './store-batch.ts';
import { ownTurn } from './turns.ts';
import type { HoldBody } from './work-lanes.ts';

export interface IngestBodyDeps {
  redis: Redis;
  batcher: SpanBatcher;
  hold: HoldBody;
  limits: OtlpLimits;
  knownPrompts: KnownPrompts;
  priceTable: PriceTable;
  priceOverrides: OverrideCache;
}

/** Searches of the price table for one body, which bounds what a body of nothing but new model names costs: some 30 ms. */
const priceSearchesMax = 256;

/** The body cannot become rows, however often it is tried. */
export class BadBodyError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'BadBodyError';
  }
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
 * BadBodyError or RowsRefusedError when no repetition can help; anything else is worth another try.
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
  return error instanceof BadBodyError || error instanceof RowsRefusedError;
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
  await ownTurn();
  const prices = { table: deps.priceTable, overrides, budget: { left: priceSearchesMax } };
  try {
    return await encodeBody(deps, payload, body, prices);
  } catch (error) {
    throw new BadBodyError(`The body cannot be decoded: ${error instanceof Error ? error.message : 'unknown'}`, error);
  }
}
