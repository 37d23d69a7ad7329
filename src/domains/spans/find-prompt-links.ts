import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { pick, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { readFields } from '../../stores/clickhouse/statements.ts';
import { linkPrompts, type PromptFinder, resolveSpanPrompts, type SpanPrompt } from '../prompt-links/index.ts';
import { spansPerTraceMax } from './light-span-queries.ts';
import { rowAge } from './newest-rows.ts';
import { spanFields } from './span-fields.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace } from './trace-sql.ts';

const reader = rowReader(
  pick(spanFields, [
    ...(['spanId', 'parentSpanId', 'startUnixNano', 'kind', 'responseId', 'prompt'] as const),
    ...(['usage', 'costNanoUsd'] as const),
  ]),
);

/**
 * Returns the prompt of every span that has one, its own or inherited, by span id. Of a very large
 * trace only the earliest spans are read. A trace without prompts costs almost nothing to read.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findPromptLinks(
  { clickhouse, knownPrompts }: { clickhouse: ClickHouse; knownPrompts: PromptFinder },
  trace: TraceKey,
): Promise<ReadonlyMap<string, SpanPrompt>> {
  const rows = await readFields(clickhouse, reader, {
    query: `SELECT ${reader.columns}
            FROM (SELECT * FROM spans
                  PREWHERE ${ofTrace} AND (SELECT count() > 0 FROM spans WHERE ${ofTrace} AND prompt_source != '')
                  ORDER BY ${rowAge} DESC LIMIT 1 BY span_id)
            ORDER BY start_unix_nano, span_id LIMIT ${spansPerTraceMax}`,
    query_params: { ...trace },
  });
  return linkPrompts(await resolveSpanPrompts(knownPrompts, trace.projectId, rows));
}
