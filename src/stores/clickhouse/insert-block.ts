import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ClickHouse, lastSettings } from './client.ts';
import { recognizeClickHouseError } from './errors.ts';

/**
 * Sends a Native block as one insert, chunk by chunk, and resolves after ClickHouse has confirmed
 * it. With `indexLater`, the first merge builds
 * the skip indexes; until then searches read the rows. One with many rows (`isLarge`) leaves the
 * processor to others.
 * Rows are not collapsed during the insert: merges and FINAL do that, and it would double the work
 * of ClickHouse. They collapse repeated inserts as well. Its own deduplication is not used: it notes an insert before
 * its rows are there (ClickHouse 26, `MergeTreeSink`), so a server that is killed in between loses rows when the
 * insert is repeated.
 * @throws UnavailableError when ClickHouse is unavailable, completely or in part
 * @throws the error of ClickHouse when it refuses the rows
 */
export async function insertBlock(
  clickhouse: ClickHouse,
  insert: {
    table: string;
    columns: readonly string[];
    block: Iterable<Buffer>;
    indexLater?: boolean;
    isLarge?: boolean;
  },
): Promise<void> {
  try {
    const { stream } = await clickhouse.exec({
      query: `INSERT INTO ${insert.table} (${insert.columns.join(', ')}) FORMAT Native`,
      values: Readable.from(inTurns(insert.block), { objectMode: false }),
      clickhouse_settings: {
        ...(insert.isLarge && lastSettings),
        async_insert: 0,
        optimize_on_insert: 0,
        wait_end_of_query: 1,
        materialize_skip_indexes_on_insert: insert.indexLater === true ? 0 : 1,
        // `insert_deduplicate` has no effect since ClickHouse 26.
        deduplicate_insert: 'disable',
      },
    });
    for await (const _ of stream); // `exec` answers with a stream; the insert is confirmed when it ends.
  } catch (error) {
    throw recognizeClickHouseError(error);
  }
}

/**
 * Number of chunks (up to 1 MiB, about 5 ms together) per turn of the event loop. With one per
 * turn, a large insert would wait for every turn of a busy worker.
 */
const chunksPerTurn = 8;

/**
 * Yields to the event loop between chunks. Without this a socket takes chunk after chunk in one turn as
 * long as ClickHouse reads them.
 */
async function* inTurns(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  let sent = 0;
  for (const chunk of chunks) {
    if (sent++ % chunksPerTurn === chunksPerTurn - 1) await nextTurn();
    yield chunk;
  }
}
