import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { insertBlock } from '../../stores/clickhouse/insert-block.ts';
import type { EncodedRows } from '../../stores/clickhouse/native-table.ts';
import { logTable } from './log-row.ts';

/**
 * Stores rows as one block and resolves once ClickHouse has confirmed them.
 * @throws the error of ClickHouse
 */
export async function insertLogs(clickhouse: ClickHouse, encoded: readonly EncodedRows[]): Promise<void> {
  const block = logTable.block(encoded);
  await insertBlock(clickhouse, {
    table: 'log_records',
    columns: logTable.names,
    block,
  });
}
