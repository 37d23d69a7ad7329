import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { ProjectOfTest } from './api.ts';

/** Returns the id of a span that {@link storeSpans} stored. The first index is 0. */
export function storedSpanId(index: number): string {
  return (index + 1).toString(16).padStart(16, '0');
}

/**
 * Stores a trace without the queue: a root and spans below it. Each starts one microsecond after
 * the previous one and has an input of this many characters. `columns` is SQL for other columns. In
 * it, `number` is the index of the span.
 */
export async function storeSpans(
  clickhouse: ClickHouse,
  project: ProjectOfTest,
  trace: { traceId: string; count: number; inputChars?: number; columns?: Readonly<Record<string, string>> },
): Promise<void> {
  const columns = {
    project_id: '{projectId:String}',
    trace_id: 'unhex({traceId:String})',
    span_id: "unhex(leftPad(hex(number + 1), 16, '0'))",
    parent_span_id: "if(number = 0, unhex('0000000000000000'), unhex('0000000000000001'))",
    received_at: 'now64(3)',
    start_unix_nano: `${Date.now() - 60_000}000000 + number * 1000`,
    end_unix_nano: `${Date.now() - 60_000}000000 + number * 1000 + 900`,
    span_name: "'work'",
    name: "concat('work ', toString(number))",
    kind: "'tool'",
    input: `repeat('x', ${trace.inputChars ?? 10})`,
    resource: `'{"attributes":[]}'`,
    scope: `'{"name":"test","attributes":[]}'`,
    ...trace.columns,
  };
  await clickhouse.command({
    query: `INSERT INTO spans (${Object.keys(columns).join(', ')})
            SELECT ${Object.values(columns).join(', ')} FROM numbers(${trace.count})`,
    query_params: { projectId: project.id, traceId: trace.traceId },
    clickhouse_settings: { max_execution_time: 0 },
  });
}
