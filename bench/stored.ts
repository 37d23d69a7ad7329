import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouse } from '../src/stores/clickhouse/client.ts';
import { epochMs } from './load/epoch.ts';
import { spansPerTrace } from './options.ts';

/** The traces of one scenario: ids that begin with its prefix. */
export interface TraceRange {
  projectId: string;
  traceIdPrefix: string;
}

export interface StoredCheck {
  /**
   * Acknowledged traces that are not readable with every span exactly once. If it is not 0, spans
   * were lost or stored twice.
   */
  wrong_traces: number;
  /** Acknowledged traces that are not listed, or are listed with another number of spans. */
  wrong_executions: number;
  /** Traces stored without a response of 200. This is allowed, because a response can be lost. */
  unacknowledged_traces: number;
}

const inRange =
  'project_id = {projectId:String} AND trace_id >= toFixedString(unhex({low:String}), 16) ' +
  'AND trace_id <= toFixedString(unhex({high:String}), 16)';
const pollEveryMs = 100;
/** After an overload, storing may take long, but it must make progress. */
const stuckMs = 30_000;

/**
 * Returns when the last of `spans` became readable, and when their executions were listed. Throws
 * if the count stops.
 */
export async function untilStored(
  clickhouse: ClickHouse,
  range: TraceRange,
  spans: number,
): Promise<{ readableAtMs: number; listedAtMs: number }> {
  const readableAtMs = await untilCount(clickhouse, range, 'spans', spans);
  const listedAtMs = await untilCount(clickhouse, range, 'executions', spans / spansPerTrace);
  return { readableAtMs, listedAtMs };
}

/** The count without FINAL is cheap and never too low. So only the last query needs FINAL. */
async function untilCount(clickhouse: ClickHouse, range: TraceRange, table: string, expected: number): Promise<number> {
  let seen = -1;
  let progressAtMs = epochMs();
  for (;;) {
    const askedAtMs = epochMs();
    const plain = await count(clickhouse, range, table);
    if (plain >= expected && (await count(clickhouse, range, `${table} FINAL`)) >= expected) return askedAtMs;
    if (plain > seen) progressAtMs = askedAtMs;
    else if (askedAtMs - progressAtMs > stuckMs) {
      throw new Error(`${table} has had ${plain} of ${expected} rows for ${stuckMs} ms`);
    }
    seen = plain;
    await delay(pollEveryMs);
  }
}

async function count(clickhouse: ClickHouse, range: TraceRange, from: string): Promise<number> {
  const [row] = await select<{ rows: string }>(
    clickhouse,
    range,
    `SELECT count() AS rows FROM ${from} WHERE ${inRange}`,
  );
  return Number(row?.rows);
}

/** Compares every acknowledged trace with the stored traces. */
export async function checkStored(
  clickhouse: ClickHouse,
  range: TraceRange,
  ackedTraceIds: Buffer,
): Promise<StoredCheck> {
  const spans = await select<{ id: string; rows: string; distinct: string }>(
    clickhouse,
    range,
    `SELECT hex(trace_id) AS id, count() AS rows, uniqExact(span_id) AS distinct FROM spans FINAL WHERE ${inRange} GROUP BY trace_id`,
  );
  const executions = await select<{ id: string; span_count: number }>(
    clickhouse,
    range,
    `SELECT hex(trace_id) AS id, span_count FROM executions FINAL WHERE ${inRange}`,
  );
  const whole = spans.filter(({ rows, distinct }) => Number(rows) === spansPerTrace && rows === distinct);
  const acked = idsOf(ackedTraceIds);
  const wholeIds = new Set(whole.map(({ id }) => id));
  const listedIds = new Set(executions.filter((row) => row.span_count === spansPerTrace).map(({ id }) => id));
  return {
    wrong_traces: acked.filter((id) => !wholeIds.has(id)).length,
    wrong_executions: acked.filter((id) => !listedIds.has(id)).length,
    unacknowledged_traces: spans.length - acked.filter((id) => wholeIds.has(id)).length,
  };
}

export function idsOf(traceIds: Buffer): string[] {
  return Array.from({ length: traceIds.length / 16 }, (_, index) =>
    traceIds.toString('hex', index * 16, index * 16 + 16).toUpperCase(),
  );
}

async function select<Row>(clickhouse: ClickHouse, range: TraceRange, query: string): Promise<Row[]> {
  const result = await clickhouse.query({
    query,
    query_params: {
      projectId: range.projectId,
      low: range.traceIdPrefix.padEnd(32, '0'),
      high: range.traceIdPrefix.padEnd(32, 'f'),
    },
    clickhouse_settings: { max_result_rows: '5000000' },
    format: 'JSONEachRow',
  });
  return result.json<Row>();
}
