import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { ProjectOfTest } from './api.ts';

/** The span id of records that belong to a whole trace. */
const wholeTrace = '0'.repeat(16);

/**
 * Stores records without the queue: messages of the user for one span, or in turn for the first `spans` that
 * `storeSpans` stored, or else evaluations of the whole trace. `columns` is SQL for other columns. In it, `number` is
 * the index of the record.
 */
export async function storeRecords(
  clickhouse: ClickHouse,
  project: ProjectOfTest,
  records: {
    traceId: string;
    spanId?: string;
    spans?: number;
    count?: number;
    columns?: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const { traceId, spanId = wholeTrace, spans, count = spans ?? 1 } = records;
  const columns = {
    project_id: '{projectId:String}',
    trace_id: 'unhex({traceId:String})',
    span_id: spans === undefined ? 'unhex({spanId:String})' : `unhex(leftPad(hex(number % ${spans} + 1), 16, '0'))`,
    record_id: 'reinterpretAsFixedString(generateUUIDv4(number))',
    received_at: 'now64(3)',
    event_name: spanId === wholeTrace && spans === undefined ? "'gen_ai.evaluation.result'" : "'gen_ai.user.message'",
    body: `'{"stringValue":"Hi"}'`,
    attributes: "'[]'",
    scope: `'{"name":"test","attributes":[]}'`,
    resource: `'{"attributes":[]}'`,
    is_gen_ai: 'true',
    bytes: '30',
    ...records.columns,
  };
  await clickhouse.command({
    query: `INSERT INTO log_records (${Object.keys(columns).join(', ')})
            SELECT ${Object.values(columns).join(', ')} FROM numbers(${count})`,
    query_params: { projectId: project.id, traceId, spanId },
  });
}
