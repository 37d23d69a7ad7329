import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClickHouse } from './client.ts';

/**
 * Sends a Native block, chunk by chunk as the engine takes it, as one insert and resolves once the engine has confirmed it. With a token, the same insert sent again is
 * stored once. With `indexLater` the skip indexes of the rows are built by the first merge; until then searches read the rows.
 * Rows are not collapsed on the way in: merges and FINAL do that, and it would double the engine's work.
 */
export async function insertBlock(
  clickhouse: ClickHouse,
  insert: { table: string; columns: readonly string[]; block: Iterable<Buffer>; token?: string; indexLater?: boolean },
): Promise<void> {
  const { stream } = await clickhouse.exec({
    query: `INSERT INTO ${insert.table} (${insert.columns.join(', ')}) FORMAT Native`,
    values: Readable.from(inTurns(insert.block), { objectMode: false }),
    clickhouse_settings: {
      async_insert: 0,
      optimize_on_insert: 0,
      wait_end_of_query: 1,
      materialize_skip_indexes_on_insert: insert.indexLater === true ? 0 : 1,
      insert_deduplicate: insert.token === undefined ? 0 : 1,
      ...(insert.token === undefined ? {} : { insert_deduplication_token: insert.token }),
    },
  });
  for await (const _ of stream); // An exec answers with a stream; the insert is confirmed when it ends.
}

/** Chunks of up to 1 MiB, which take some 5 ms. One in a turn would make a large insert wait for every turn of a busy worker. */
const chunksPerTurn = 8;

/** The event loop goes on in between: a socket takes one chunk after the other at once as long as the engine reads them. */
async function* inTurns(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  let sent = 0;
  for (const chunk of chunks) {
    if (sent++ % chunksPerTurn === chunksPerTurn - 1) await nextTurn();
    yield chunk;
  }
}
