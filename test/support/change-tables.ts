import type { CommandParams } from '@clickhouse/client';
import { inject } from 'vitest';
import { connectClickHouse } from '../../src/stores/clickhouse/client.ts';

/** Runs a statement that changes tables on each server that has them: `Distributed` tables refuse it. */
export async function changeTables(statement: CommandParams): Promise<void> {
  for (const url of inject('shardUrls')) {
    const shard = connectClickHouse(url);
    await shard.command(statement);
    await shard.close();
  }
}
