import { createHash } from 'node:crypto';
import { spanTable } from '../../src/domains/ingestion/index.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import { insertBlocks } from '../../src/stores/clickhouse/insert-blocks.ts';
import type { BatchEntry } from './span-batcher.ts';

/**
 * Stores the rows of all entries and resolves once the engine has confirmed them. The token names the contents (a job's id is the
 * hash of its body), so an insert whose answer was lost can be repeated as it was; a batch cut differently collapses by key.
 */
export async function insertSpans(clickhouse: ClickHouse, entries: readonly BatchEntry[]): Promise<void> {
  const blocks = entries.map(({ encoded }) => encoded.block);
  const token = createHash('sha256')
    .update(entries.map(({ jobId }) => jobId).join())
    .digest('hex');
  await insertBlocks(clickhouse, { table: 'spans', columns: spanTable.names, blocks, token });
}
