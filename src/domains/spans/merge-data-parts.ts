import type { Queue } from 'bullmq';
import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows, runStatement } from '../../stores/clickhouse/statements.ts';
import type { Logger } from '../../telemetry/logger.ts';

export interface MergeDataPartsDeps {
  /** Clients with a timeout long enough for a merge, of each server with tables: a server knows only its own parts. */
  shards: readonly ClickHouse[];
  /** The queues of both lanes. */
  ingest: readonly Queue[];
  /** Aborted when the worker must stop. */
  stopping: AbortSignal;
  logger: Logger;
}

/**
 * Data parts of a partition without a merge. A read looks into each data part: each additional one
 * costs a list by attribute or word 3 ms.
 */
const partsMax = 8;
/**
 * The same for data parts that merge quickly, in a partition at rest. New spans would make another
 * merge necessary.
 */
export const restingPartsMax = 3;
export const quicklyMergedBytesMax = 512 * 1024 * 1024;
/**
 * Data parts of a partition that are merged as a whole: a merge has a row of each in memory, and a row may have 64 MiB.
 * The same as `max_parts_to_merge_at_once` of `spans`, which such a merge ignores.
 */
const mergedAtOnceMax = 16;
/**
 * A partition is merged as a whole if it has at most so many times the bytes of one quickly merged part, or of all its
 * quickly merged parts: few new spans must not rewrite all spans of a month. Otherwise ClickHouse chooses parts of
 * similar size.
 */
const wholeRatioMax = 4;
/** Partitions whose merge failed rest for so long, because it would most likely fail again, and use as much memory. */
const failed = new LRUCache<string, true>({ max: 1_000, ttl: 10 * 60_000 });

/**
 * Merges the data parts of the tables where there are many, at a moment when no body waits. While
 * spans come fast, ClickHouse leaves those of `spans` alone (`merge_selector_base`), because a
 * merge costs as much as the inserts before it. Small data parts are merged first. A partition
 * without changes for `restS` seconds is merged further. Reads with FINAL compare the rows of all
 * data parts, which takes stats half as long again as reading one. Replicated tables merge by themselves: each of
 * their replicas would do the same merge. While a partition has
 * very many or is large, each run merges some of the table.
 * @param options.quickMax bytes of a data part that merges quickly, for tests
 */
export async function mergeDataParts(
  deps: MergeDataPartsDeps,
  { restS, quickMax = quicklyMergedBytesMax }: { restS: number; quickMax?: number },
): Promise<void> {
  for (const [index, shard] of deps.shards.entries()) await mergeOn(shard, deps, { restS, quickMax, index });
}

async function mergeOn(
  shard: ClickHouse,
  { ingest, stopping, logger }: MergeDataPartsDeps,
  { restS, quickMax, index }: { restS: number; quickMax: number; index: number },
): Promise<void> {
  for (const { table, partition, parts, bytes, quickBytes } of await scattered(shard, { restS, quickMax })) {
    const failedKey = `${index} ${table} ${partition}`;
    if (failed.has(failedKey)) continue;
    if ((await anyBody(ingest)) || stopping.aborted) return;
    const isWhole = parts <= mergedAtOnceMax && bytes <= wholeRatioMax * Math.max(quickMax, quickBytes);
    const startedAtMs = performance.now();
    try {
      await runStatement(shard, {
        query: `OPTIMIZE TABLE {table:Identifier}${isWhole ? ' PARTITION ID {partition:String}' : ''}`,
        query_params: { table, partition },
        clickhouse_settings: { max_execution_time: 0 },
        abort_signal: stopping,
      });
      logger.info({ table, partition, parts, took_ms: Math.round(performance.now() - startedAtMs) }, 'parts merged');
    } catch (error) {
      // The other partitions do not wait for one that cannot be merged.
      if (!stopping.aborted) failed.set(failedKey, true);
      logger.warn({ err: error, table, partition, parts }, 'parts could not be merged');
    }
  }
}

async function anyBody(lanes: readonly Queue[]): Promise<boolean> {
  const counts = await Promise.all(lanes.map((lane) => lane.getJobCountByTypes('waiting', 'prioritized', 'active')));
  return counts.some((count) => count > 0);
}

interface Scattered {
  table: string;
  partition: string;
  parts: number;
  bytes: number;
  /** Bytes of the data parts that merge quickly. */
  quickBytes: number;
}

function scattered(
  clickhouse: ClickHouse,
  { restS, quickMax }: { restS: number; quickMax: number },
): Promise<Scattered[]> {
  return readRows(clickhouse, {
    query: `SELECT table, partition_id AS partition, count()::Float64 AS parts,
              sum(bytes_on_disk)::Float64 AS bytes,
              sumIf(bytes_on_disk, bytes_on_disk <= {quickMax:UInt64})::Float64 AS quickBytes
            FROM system.parts
            WHERE active AND database = currentDatabase() AND endsWith(engine, 'MergeTree')
              AND NOT startsWith(engine, 'Replicated') AND NOT startsWith(engine, 'Shared')
            GROUP BY table, partition_id
            HAVING (table = 'spans' AND parts > {partsMax:UInt32})
              OR (countIf(bytes_on_disk <= {quickMax:UInt64}) > {restingPartsMax:UInt32}
                AND max(modification_time) <= subtractSeconds(now(), {restS:UInt32}))
            ORDER BY table, partition_id`,
    query_params: { partsMax, quickMax, restingPartsMax, restS },
    format: 'JSONEachRow',
  });
}
