import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows, runStatement } from '../../stores/clickhouse/statements.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { wordsLeftOutKey } from '../../stores/redis/names.ts';
import type { Logger } from '../../telemetry/logger.ts';

const indexOfWords = 'search_words';
/** A server that does not answer for so long is left until the next run. */
const statementMsMax = 10_000;
const setting = 'exclude_materialize_skip_indexes_on_merge';

export interface BoundMergesDeps {
  /** Clients of each server with tables. */
  shards: readonly ClickHouse[];
  redis: Redis;
  logger: Logger;
}

/** A table, and when its merges leave out the index of words. */
export interface MergeBounds {
  table: string;
  /** Memory of a merge in bytes: a quarter of what a server of 8 GiB has. */
  memoryMax: number;
  /** Data parts of a partition. There are fewer, unless merges fail or are too slow. */
  partsMax: number;
  /** After so many seconds without such a merge, the index is built again. */
  restS: number;
}

const spansBounds: MergeBounds = { table: 'spans', memoryMax: 2 * 1024 * 1024 * 1024, partsMax: 200, restS: 86_400 };

/**
 * Bounds the memory of merges, which all projects share. ClickHouse 26.7 builds the index of words of a merged part in
 * memory, 110 bytes for each different word, and later versions in pieces of a gibibyte. Texts in which no word is
 * repeated make merges fail, and without merges, inserts fail in the end. So after a merge that takes too much, merges
 * leave out the index for a day. In parts that are merged meanwhile, searches for words read the texts of their project;
 * the next merge of such a part builds its index.
 */
export async function boundMerges({ shards, redis, logger }: BoundMergesDeps, bounds = spansBounds): Promise<void> {
  const { table } = bounds;
  for (const [index, shard] of shards.entries()) {
    const restKey = wordsLeftOutKey(`${table}:${index}`);
    await boundOn(shard, { redis, logger, restKey }, bounds).catch((error: unknown) =>
      // The other servers do not wait for one that is away.
      logger.warn({ err: error, table, shard: index }, 'merges could not be bounded'),
    );
  }
}

async function boundOn(
  shard: ClickHouse,
  { redis, logger, restKey }: Pick<BoundMergesDeps, 'redis' | 'logger'> & { restKey: string },
  { table, memoryMax, partsMax, restS }: MergeBounds,
): Promise<void> {
  const state = await stateOf(shard, table);
  if (state === undefined) return;
  // The memory of a merge without the index has another reason.
  const isTooMuch = state.parts > partsMax || (!state.isOut && state.memory > memoryMax);
  if (isTooMuch) await redis.set(restKey, 1, 'EX', restS);
  if (!state.isOut && isTooMuch) {
    await alter(shard, table, `MODIFY SETTING ${setting} = '${indexOfWords}'`);
    logger.error(
      { table, ...state },
      'merges take too much memory or time, and leave out the index of words for a day',
    );
  } else if (state.isOut && (await redis.exists(restKey)) === 0) {
    await alter(shard, table, `RESET SETTING ${setting}`);
    logger.info({ table }, 'merges build the index of words again');
  }
}

interface MergeState {
  /** Whether merges leave out the index. */
  isOut: boolean;
  /** Bytes of the merge that takes most, and data parts of the partition that has most. */
  memory: number;
  parts: number;
}

async function stateOf(shard: ClickHouse, table: string): Promise<MergeState | undefined> {
  const [state] = await readRows<MergeState>(shard, {
    query: `SELECT position(engine_full, {setting:String}) > 0 AS isOut,
              (SELECT max(memory_usage)::Float64 FROM system.merges
               WHERE database = currentDatabase() AND table = {table:String} AND NOT is_mutation) AS memory,
              (SELECT max(parts) FROM (SELECT count()::Float64 AS parts FROM system.parts
               WHERE active AND database = currentDatabase() AND table = {table:String} GROUP BY partition_id)) AS parts
            FROM system.tables WHERE database = currentDatabase() AND name = {table:String}`,
    query_params: { setting, table },
    abort_signal: AbortSignal.timeout(statementMsMax),
    format: 'JSONEachRow',
  });
  return state && { ...state, isOut: Boolean(state.isOut) };
}

const alter = (shard: ClickHouse, table: string, what: string) =>
  runStatement(shard, {
    query: `ALTER TABLE {table:Identifier} ${what}`,
    query_params: { table },
    abort_signal: AbortSignal.timeout(statementMsMax),
  });
