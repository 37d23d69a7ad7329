import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import type { Execution } from './execution.ts';
import type { SpanStatus } from './light-span.ts';

/** Where a page begins: after the execution with this start and id, in the order of the list. */
export interface ListPosition {
  startUnixNano: string;
  traceId: string;
}

export interface ListExecutionsFilter {
  projectId: string;
  fromUnixNano: bigint;
  toUnixNano: bigint;
  status: SpanStatus | undefined;
  after: ListPosition | undefined;
  limit: number;
}

interface Row {
  trace_id: string;
  version: string;
  received_at_ms: string;
  retention_days: number;
  start_unix_nano: string;
  end_unix_nano: string;
  name: string;
  status: SpanStatus;
  complete: boolean;
  span_count: number;
  error_count: number;
  models: string[];
  providers: string[];
  prompts: { id: string; name: string; version: number }[];
  prompt_keys: string[];
  prompt_calls: number[];
  input_tokens: string;
  output_tokens: string;
  cache_read_tokens: string;
  cache_write_tokens: string;
  reasoning_tokens: string;
  total_tokens: string;
  cost_nano_usd: string | null;
  unpriced_spans: number;
  session_id: string;
  user_id: string;
  environment: string;
  service: string;
  tags: string[];
  input_preview: string;
  output_preview: string;
}

/**
 * Executions of a window, newest first. The page's ids come from the light columns alone; only their rows are read whole.
 * Throws UnavailableError while the trace store is away.
 */
export async function listExecutions(clickhouse: ClickHouse, filter: ListExecutionsFilter): Promise<Execution[]> {
  const conditions = [
    'project_id = {projectId:String}',
    'start_unix_nano >= {from:UInt64}',
    'start_unix_nano < {to:UInt64}',
    ...(filter.status === undefined ? [] : ['status = {status:String}']),
    ...(filter.after === undefined
      ? []
      : ['(start_unix_nano, trace_id) < ({afterStart:UInt64}, toFixedString(unhex({afterTrace:String}), 16))']),
  ];
  const order = 'ORDER BY start_unix_nano DESC, trace_id DESC LIMIT {limit:UInt32}';
  const rows = await runClickHouse(async () => {
    const result = await clickhouse.query({
      query: `SELECT * EXCEPT (project_id, trace_id, received_at),
                     lower(hex(executions.trace_id)) AS trace_id, toUnixTimestamp64Milli(received_at) AS received_at_ms
              FROM executions FINAL
              WHERE project_id = {projectId:String} AND executions.trace_id IN
                (SELECT trace_id FROM executions FINAL WHERE ${conditions.join(' AND ')} ${order})
              ORDER BY start_unix_nano DESC, executions.trace_id DESC`,
      query_params: {
        projectId: filter.projectId,
        from: filter.fromUnixNano.toString(),
        to: filter.toUnixNano.toString(),
        status: filter.status ?? '',
        afterStart: filter.after?.startUnixNano ?? '0',
        afterTrace: filter.after?.traceId ?? '',
        limit: filter.limit,
      },
      format: 'JSONEachRow',
    });
    return result.json<Row>();
  });
  return rows.map((row) => toExecution(filter.projectId, row));
}

function toExecution(projectId: string, row: Row): Execution {
  return {
    projectId,
    traceId: row.trace_id,
    version: BigInt(row.version),
    receivedAtMs: Number(row.received_at_ms),
    retentionDays: row.retention_days,
    startUnixNano: BigInt(row.start_unix_nano),
    endUnixNano: BigInt(row.end_unix_nano),
    name: row.name,
    status: row.status,
    complete: row.complete,
    spanCount: row.span_count,
    errorCount: row.error_count,
    models: row.models,
    providers: row.providers,
    prompts: row.prompts.map((prompt, index) => ({
      ...prompt,
      key: row.prompt_keys[index] ?? '',
      calls: row.prompt_calls[index] ?? 0,
    })),
    usage: {
      inputTokens: Number(row.input_tokens),
      outputTokens: Number(row.output_tokens),
      cacheReadTokens: Number(row.cache_read_tokens),
      cacheWriteTokens: Number(row.cache_write_tokens),
      reasoningTokens: Number(row.reasoning_tokens),
      totalTokens: Number(row.total_tokens),
    },
    costNanoUsd: row.cost_nano_usd === null ? null : BigInt(row.cost_nano_usd),
    unpricedSpans: row.unpriced_spans,
    sessionId: row.session_id,
    userId: row.user_id,
    environment: row.environment,
    service: row.service,
    tags: row.tags,
    inputPreview: row.input_preview,
    outputPreview: row.output_preview,
  };
}
