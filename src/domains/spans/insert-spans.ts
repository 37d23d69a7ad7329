import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { insertBlock } from '../../stores/clickhouse/insert-block.ts';
import type { EncodedRows } from '../../stores/clickhouse/native-table.ts';
import { spanTable } from './span-row.ts';

/**
 * Larger inserts mean that spans come fast or are large. Their skip indexes for words and attributes
 * are then left to the merge, which builds them anyway. They take a fifth of the time of an insert;
 * for 100 MiB of words, 300 ms.
 */
const indexedMax = { rows: 1_000, bytes: 4 * 1024 * 1024 };

/**
 * Stores rows as one block and resolves once ClickHouse has confirmed them.
 * @throws the error of ClickHouse
 */
export async function insertSpans(clickhouse: ClickHouse, encoded: readonly EncodedRows[]): Promise<void> {
  const rows = encoded.reduce((sum, { rowCount }) => sum + rowCount, 0);
  const bytes = encoded.reduce((sum, part) => sum + part.bytes.length, 0);
  const indexLater = rows > indexedMax.rows || bytes > indexedMax.bytes;
  const block = spanTable.block(encoded);
  await insertBlock(clickhouse, {
    table: 'spans',
    columns: spanTable.names,
    block,
    indexLater,
    isLarge: indexLater,
  });
}
