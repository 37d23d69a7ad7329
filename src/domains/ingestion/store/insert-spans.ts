import { createHash } from 'node:crypto';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import { insertBlock } from '../../../stores/clickhouse/insert-block.ts';
import { spanTable } from '../../spans/index.ts';
import type { BatchEntry } from './span-batcher.ts';

/**
 * A larger batch means that spans come fast or are large. Its skip indexes for words and attributes
 * are then left to the merge, which builds them anyway. They take a fifth of the time of an insert;
 * for 100 MiB of words, 300 ms.
 */
const indexedMax = { rows: 1_000, bytes: 4 * 1024 * 1024 };

/**
 * Stores the rows of all entries and resolves once ClickHouse has confirmed them. The deduplication
 * token is made of each job id (a hash of the body) and its time of receipt, so that an insert
 * whose answer was lost can be repeated unchanged. If the batch is cut differently, its rows
 * collapse by key.
 */
export async function insertSpans(clickhouse: ClickHouse, entries: readonly BatchEntry[]): Promise<void> {
  const block = spanTable.block(entries.map(({ encoded }) => encoded.rows));
  const token = createHash('sha256')
    .update(entries.map(({ jobId, receivedAtMs }) => `${jobId}@${receivedAtMs}`).join())
    .digest('hex');
  const rows = entries.reduce((sum, { encoded }) => sum + encoded.spanCount, 0);
  const bytes = entries.reduce((sum, { encoded }) => sum + encoded.rows.bytes.length, 0);
  const indexLater = rows > indexedMax.rows || bytes > indexedMax.bytes;
  await insertBlock(clickhouse, { table: 'spans', columns: spanTable.names, block, token, indexLater });
}
