import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import type { Execution } from './execution.ts';
import { BoundParameters } from './filters/bound-parameters.ts';
import { compileCondition, isOneOfTraces } from './filters/compile-condition.ts';
import type { Condition } from './filters/condition.ts';
import type { SpanStatus } from './light-span.ts';
import { listSettings } from './list-settings.ts';

interface Row {
  trace_id_hex: string;
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
 * The executions of these traces that satisfy the condition, which is held against spans as they are now. Throws UnavailableError while
 * the trace store is away.
 */
export async function findExecutions(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  condition: Condition,
): Promise<Map<string, Execution>> {
  if (traceIds.length === 0) return new Map();
  const parameters = new BoundParameters();
  const spans = { mode: 'exact', traceIds } as const;
  // The newest row of each by hand: FINAL would read every column of every row around it.
  const newest = `SELECT * FROM executions
                  PREWHERE project_id = ${parameters.bind('String', projectId)} AND ${isOneOfTraces(traceIds, parameters)}
                  ORDER BY version DESC LIMIT 1 BY trace_id`;
  const query = `SELECT * EXCEPT (project_id, trace_id, summarised_at, received_at), lower(hex(trace_id)) AS trace_id_hex,
                        toUnixTimestamp64Milli(received_at) AS received_at_ms
                 FROM (${newest}) WHERE ${compileCondition(condition, { parameters, projectId, spans })}`;
  const rows = await runClickHouse(async () => {
    const result = await clickhouse.query({
      query,
      query_params: parameters.values,
      clickhouse_settings: listSettings,
      format: 'JSONEachRow',
    });
    return result.json<Row>();
  });
  return new Map(rows.map((row) => [row.trace_id_hex, toExecution(projectId, row)]));
}

function toExecution(projectId: string, row: Row): Execution {
  return {
    projectId,
    traceId: row.trace_id_hex,
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
    prompts: row.prompts,
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
