import { setTimeout as sleep } from 'node:timers/promises';
import { originOf, UnavailableError } from '../../../lib/errors.ts';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import { clickHouseFault, isDoubtfulError, isSilence } from '../../../stores/clickhouse/errors.ts';
import type { EncodedRows } from '../../../stores/clickhouse/native-table.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import type { BatchEntry } from './span-batcher.ts';

const retryFirstMs = 100;
const retryMaxMs = 5_000;

/**
 * What a failed insert may mean, and after how many tries a batch is taken apart. `passing`:
 * ClickHouse, a shard or Keeper is unavailable, and no batch could be stored, so the write waits.
 * No other error may hold the write slot forever.
 */
const triesMax = { passing: Number.POSITIVE_INFINITY, doubtful: 4, unknown: 5, data: 1 };
/**
 * After so many inserts that had no answer within the time of a request, the bodies go back to the queue: others have
 * the write slot meanwhile, and they come again in other batches.
 */
const silencesMax = 4;
/** Tries of a single body after its batch was taken apart. */
const triesMaxApart: typeof triesMax = { ...triesMax, doubtful: 2, unknown: 2 };

/** How the entries of one signal are stored. */
export interface BatchKind {
  /**
   * Stores encoded rows.
   * @throws the error of ClickHouse
   */
  insert(clickhouse: ClickHouse, rows: readonly EncodedRows[]): Promise<void>;
  /**
   * Does what must be done when the rows are stored, or puts it on a durable list.
   * @throws the error of Redis; the jobs are then tried again
   */
  finish(entries: readonly BatchEntry[]): Promise<void>;
}

export interface StoreBatchDeps {
  clickhouse: ClickHouse;
  logger: Logger;
  kind: BatchKind;
  /** Aborted when the worker must stop: waiting jobs then go back to the queue. */
  stopping: AbortSignal;
}

/**
 * ClickHouse refuses these rows in every retry. Only if `isCertain`, they are known to be the cause. Otherwise the
 * cause may be ClickHouse, for every body of every workspace: the body is then tried again later, and at last alone.
 */
export class RowsRefusedError extends Error {
  readonly isCertain: boolean;

  constructor(cause: unknown, isCertain: boolean) {
    super(`ClickHouse refuses the rows: ${cause instanceof Error ? cause.message.slice(0, 2_000) : 'unknown'}`, {
      cause,
    });
    this.name = 'RowsRefusedError';
    this.isCertain = isCertain;
  }
}

/**
 * Stores the rows of all entries and finishes them. It waits while ClickHouse is unavailable. A
 * refused batch is taken apart, so that one bad body does not affect the others.
 * @returns the errors of the entries that could not be stored
 * @throws the error of Redis when they cannot be finished; the jobs are then tried again
 */
export async function storeBatch(
  deps: StoreBatchDeps,
  entries: readonly BatchEntry[],
  tries = triesMax,
): Promise<ReadonlyMap<BatchEntry, unknown>> {
  try {
    const insertMs = await timed(() => retrying(deps, tries, () => insertBatch(deps, entries)));
    const finishMs = await timed(() => deps.kind.finish(entries));
    const rows = entries.reduce((sum, { encoded }) => sum + encoded.spanCount, 0);
    const facts = { bodies: entries.length, rows, insert_ms: insertMs, finish_ms: finishMs };
    deps.logger.debug(facts, 'batch stored');
    return new Map();
  } catch (error) {
    if (!(error instanceof RowsRefusedError)) throw error;
    const [first, ...others] = entries;
    if (first !== undefined && others.length === 0) return new Map([[first, error]]);
    deps.logger.warn({ err: error, bodies: entries.length }, 'batch refused, storing its bodies one by one');
    const errors = new Map<BatchEntry, unknown>();
    for (const entry of entries) {
      for (const [key, value] of await storeBatch(deps, [entry], triesMaxApart)) errors.set(key, value);
    }
    return errors;
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return Math.round(performance.now() - startedAtMs);
}

/**
 * Repeats `work` unchanged while that can help.
 * @throws RowsRefusedError when it cannot
 * @throws UnavailableError when ClickHouse gives no answer again and again
 * @throws the abort reason when the worker stops
 */
async function retrying(deps: StoreBatchDeps, most: typeof triesMax, work: () => Promise<void>): Promise<void> {
  const tries = { passing: 0, doubtful: 0, unknown: 0, data: 0 };
  let silences = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (thrown) {
      const error = originOf(thrown);
      const meaning = meaningOf(error);
      if (++tries[meaning] >= most[meaning]) throw new RowsRefusedError(error, meaning === 'data');
      if (isSilence(error) && ++silences >= silencesMax)
        throw new UnavailableError('clickhouse_unavailable', 'ClickHouse gave no answer again and again', {
          cause: error,
        });
      deps.stopping.throwIfAborted();
      deps.logger.warn({ err: error, attempt }, 'ClickHouse did not take the batch, trying again');
    }
    const waitMs = Math.min(retryFirstMs * 2 ** (attempt - 1), retryMaxMs);
    // A stop must not look like an error of ClickHouse, which would count as a failure of the body.
    await sleep(waitMs, undefined, { signal: deps.stopping }).catch(() => deps.stopping.throwIfAborted());
  }
}

function meaningOf(error: unknown): keyof typeof triesMax {
  return isDoubtfulError(error) ? 'doubtful' : clickHouseFault(error);
}

/**
 * Stores the rows of all entries and resolves once ClickHouse has confirmed them. An insert whose answer was lost
 * can be repeated: its rows collapse by key.
 * @throws the error of ClickHouse
 */
export async function insertBatch(
  { clickhouse, kind }: Pick<StoreBatchDeps, 'clickhouse' | 'kind'>,
  entries: readonly BatchEntry[],
): Promise<void> {
  await kind.insert(
    clickhouse,
    entries.map(({ encoded }) => encoded.rows),
  );
}
