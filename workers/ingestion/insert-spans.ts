import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { spanColumns } from '../../src/domains/ingestion/index.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { BatchEntry } from './span-batcher.ts';

const statement = `INSERT INTO spans (${spanColumns.join(', ')}) FORMAT RowBinary`;

/**
 * Stores rows as one block and resolves once the engine has confirmed them. The token names the contents (a job's id is the hash
 * of its body), so an insert whose answer was lost can be repeated as it was; a batch cut differently collapses by key instead.
 */
export async function insertSpans(clickhouse: ClickHouse, entries: readonly BatchEntry[]): Promise<void> {
  const { stream } = await clickhouse.exec({
    query: statement,
    values: Readable.from(
      entries.map(({ encoded }) => encoded.rows),
      { objectMode: false },
    ),
    clickhouse_settings: {
      async_insert: 0,
      insert_deduplicate: 1,
      insert_deduplication_token: tokenOf(entries),
      wait_end_of_query: 1,
    },
  });
  for await (const _ of stream); // An exec answers with a stream; the insert is confirmed when it ends.
}

function tokenOf(entries: readonly BatchEntry[]): string {
  return createHash('sha256')
    .update(entries.map(({ jobId }) => jobId).join())
    .digest('hex');
}
