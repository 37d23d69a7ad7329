import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import { isRetryableClickHouseError, isServerAnswer } from '../../src/stores/clickhouse/errors.ts';
import type { Redis } from '../../src/stores/redis/client.ts';
import type { Logger } from '../../src/telemetry/logger.ts';
import { claimTraces, type TraceClaim } from './claim-traces.ts';
import { insertSpans } from './insert-spans.ts';
import type { BatchEntry } from './span-batcher.ts';
import { summariseTraces } from './summarise-traces.ts';

const retryFirstMs = 100;
const retryMaxMs = 5_000;
/** "Try later" that may mean the batch: it takes too long (159) or too much memory (241). The other codes are the engine's own. */
const batchFaultCodes = new Set(['159', '241']);
/** After this many such answers a batch is taken apart. */
const refusalsMax = 8;

export interface StoreBatchDeps {
  clickhouse: ClickHouse;
  redis: Redis;
  logger: Logger;
  /** Aborted when the worker must stop: waiting jobs then go back to the queue. */
  stopping: AbortSignal;
}

/** The engine will not take these rows, however often they are sent. */
export class RowsRefusedError extends Error {
  constructor(cause: unknown) {
    super(`ClickHouse refuses the rows: ${cause instanceof Error ? cause.message.slice(0, 2_000) : 'unknown'}`, {
      cause,
    });
    this.name = 'RowsRefusedError';
  }
}

/**
 * Stores the rows of all entries and the summaries of their traces. An engine that is away is waited for; a batch that it refuses
 * is taken apart, so that one bad body costs its neighbours nothing. Resolves with the errors of entries that could not be stored.
 */
export async function storeBatch(
  deps: StoreBatchDeps,
  entries: readonly BatchEntry[],
): Promise<ReadonlyMap<BatchEntry, unknown>> {
  try {
    const claim = await claimTraces(deps.redis, entries);
    const insertMs = await timed(() => retrying(deps, () => insertSpans(deps.clickhouse, entries)));
    const summariseMs = await timed(() => summarise(deps, entries, claim));
    const spans = entries.reduce((sum, { encoded }) => sum + encoded.spanCount, 0);
    const facts = { bodies: entries.length, spans, insert_ms: insertMs, summarise_ms: summariseMs };
    deps.logger.debug(facts, 'batch stored');
    return new Map();
  } catch (error) {
    if (!(error instanceof RowsRefusedError)) throw error;
    const [first, ...others] = entries;
    if (first !== undefined && others.length === 0) return new Map([[first, error]]);
    deps.logger.warn({ err: error, bodies: entries.length }, 'batch refused, storing its bodies one by one');
    const errors = new Map<BatchEntry, unknown>();
    for (const entry of entries) for (const [key, value] of await storeBatch(deps, [entry])) errors.set(key, value);
    return errors;
  }
}

/** The rows are safe by now, so a summary that the engine refuses is reported and left to the next body of its trace. */
async function summarise(deps: StoreBatchDeps, entries: readonly BatchEntry[], claim: TraceClaim): Promise<void> {
  try {
    await retrying(deps, () => summariseTraces(deps, entries, claim));
  } catch (error) {
    if (!(error instanceof RowsRefusedError)) throw error;
    deps.logger.error({ err: error, bodies: entries.length }, 'executions could not be summed up');
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return Math.round(performance.now() - startedAtMs);
}

/** Repeats `work` as it is while that can help. Throws RowsRefusedError when it cannot, or the abort's reason. */
async function retrying(deps: StoreBatchDeps, work: () => Promise<void>): Promise<void> {
  let refusals = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryableClickHouseError(error) || (mayMeanTheBatch(error) && ++refusals >= refusalsMax)) {
        throw new RowsRefusedError(error);
      }
      deps.stopping.throwIfAborted();
      deps.logger.warn({ err: error, attempt }, 'ClickHouse did not take the batch, trying again');
    }
    await sleep(Math.min(retryFirstMs * 2 ** (attempt - 1), retryMaxMs), undefined, { signal: deps.stopping });
  }
}

function mayMeanTheBatch(error: unknown): boolean {
  return isServerAnswer(error) && error instanceof Error && 'code' in error && batchFaultCodes.has(String(error.code));
}
