import { encodeRows } from '../src/domains/ingestion/store/encode-body.ts';
import { spanTable } from '../src/domains/spans/span-row.ts';
import { insertBlock } from '../src/stores/clickhouse/insert-block.ts';
import { traceRows } from './reads/seed-executions.ts';
import { ResourceWatch } from './resources.ts';
import type { Bench } from './scenarios/bench.ts';
import { round } from './statistics.ts';

const blocks = 20;
const tracesPerBlock = 1_000;
const spansPerTrace = 10;
const table = 'bench_engine_limit';
const sampleEveryMs = 100;

/**
 * Inserts the same kind of rows directly into a copy of `spans`, one insert at a time, and merges them once: what
 * the engine alone can store on this machine, and what that costs.
 */
export async function engineLimit({ clickhouse, target, say }: Bench): Promise<object> {
  say('  the limit of the engine');
  await clickhouse.command({ query: `CREATE TABLE ${table} AS spans` });
  const spans = blocks * tracesPerBlock * spansPerTrace;
  let insertMs = 0;
  const inserts = new ResourceWatch({ clickhouse: target.pids.clickhouse ?? 0 }, sampleEveryMs);
  for (let block = 0; block < blocks; block++) {
    const encoded = await encodedBlock(block);
    const startedAtMs = performance.now();
    await insertBlock(clickhouse, {
      ...{ table, columns: spanTable.names, block: spanTable.block(encoded), indexLater: true },
    });
    insertMs += performance.now() - startedAtMs;
  }
  const inserting = inserts.stop(spans).byProcess.clickhouse;
  const merge = new ResourceWatch({ clickhouse: target.pids.clickhouse ?? 0 }, sampleEveryMs);
  await clickhouse.command({ query: `OPTIMIZE TABLE ${table} FINAL` });
  const merging = merge.stop(spans).byProcess.clickhouse;
  await clickhouse.command({ query: `DROP TABLE ${table}` });
  return {
    spans_per_s: Math.round(spans / (insertMs / 1_000)),
    insert_cpu_us_per_span: inserting?.cpu_us_per_span ?? null,
    merge_cpu_us_per_span: merging?.cpu_us_per_span ?? null,
  };

  async function encodedBlock(block: number) {
    const encoded = [];
    for (let trace = 0; trace < tracesPerBlock; trace++) {
      const seed = 1 + block * tracesPerBlock + trace;
      const { rows } = await traceRows(target.projectId, seed, { spansPerTrace, endMs: Date.now() });
      encoded.push(encodeRows(rows).rows);
    }
    return encoded;
  }
}

const bytesByTable = `SELECT table, sum(bytes_on_disk)::Float64 AS bytes FROM system.parts
  WHERE active AND database = currentDatabase() GROUP BY table ORDER BY table`;

/** Returns the bytes on disk of each table, divided by the number of stored spans. */
export async function storedBytesPerSpan({ clickhouse }: Bench): Promise<Record<string, number>> {
  const counted = await clickhouse.query({
    query: 'SELECT count()::Float64 AS spans FROM spans',
    format: 'JSONEachRow',
  });
  const [{ spans } = { spans: Number.NaN }] = await counted.json<{ spans: number }>();
  const result = await clickhouse.query({ query: bytesByTable, format: 'JSONEachRow' });
  const rows = await result.json<{ table: string; bytes: number }>();
  return Object.fromEntries(rows.map(({ table: name, bytes }) => [name, round(bytes / spans, 1)]));
}
