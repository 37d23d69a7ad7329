import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { spanColumns } from '../../src/domains/ingestion/index.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';

const statement = `INSERT INTO spans (${spanColumns.join(', ')}) FORMAT RowBinary`;

/**
 * Stores rows as one block and resolves once the engine has confirmed them. The token is a pure function of the contents, so an
 * insert whose answer was lost can be repeated as it was; a batch cut differently is a new one and collapses by key instead.
 */
export async function insertSpans(clickhouse: ClickHouse, rows: readonly Buffer[]): Promise<void> {
  const { stream } = await clickhouse.exec({
    query: statement,
    values: Readable.from(rows, { objectMode: false }),
    clickhouse_settings: {
      async_insert: 0,
      insert_deduplicate: 1,
      insert_deduplication_token: tokenOf(rows),
      wait_end_of_query: 1,
    },
  });
  for await (const _ of stream); // An exec answers with a stream; the insert is confirmed when it ends.
}

function tokenOf(rows: readonly Buffer[]): string {
  const hash = createHash('sha256');
  for (const part of rows) hash.update(part);
  return hash.digest('hex');
}
