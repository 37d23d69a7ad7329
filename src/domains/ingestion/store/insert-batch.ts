import { createHash } from 'node:crypto';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import { insertSpans } from '../../spans/index.ts';
import type { BatchEntry } from './span-batcher.ts';

/**
 * Stores the rows of all entries and resolves once ClickHouse has confirmed them. The deduplication
 * token is made of each job id (a hash of the body) and its time of receipt, so that an insert
 * whose answer was lost can be repeated unchanged. If the batch is cut differently, its rows
 * collapse by key.
 * @throws the error of ClickHouse
 */
export async function insertBatch(clickhouse: ClickHouse, entries: readonly BatchEntry[]): Promise<void> {
  const token = createHash('sha256')
    .update(entries.map(({ jobId, receivedAtMs }) => `${jobId}@${receivedAtMs}`).join())
    .digest('hex');
  const rows = entries.map(({ encoded }) => encoded.rows);
  await insertSpans(clickhouse, rows, { token });
}
