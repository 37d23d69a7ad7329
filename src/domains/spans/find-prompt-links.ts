import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import {
  type LinkableSpan,
  linkPrompts,
  type PromptFinder,
  resolveSpanPrompts,
  type SpanPrompt,
} from '../prompt-links/index.ts';
import { spansPerTraceMax } from './light-span-queries.ts';
import { blockColumn } from './newest-rows.ts';
import type { SpanDetail } from './span-detail.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace } from './trace-sql.ts';

type PromptColumns = Pick<
  SpanDetail,
  'prompt_id' | 'prompt_name' | 'prompt_version' | 'prompt_raw_version' | 'prompt_source' | 'prompt_key'
>;

type Row = PromptColumns & { id: string; parent: string; start: string; kind: string; response_id: string };

/**
 * Returns the prompt of every span that has one, its own or inherited, by span id. Of a very large
 * trace only the earliest spans are read. A trace without prompts costs almost nothing to read.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findPromptLinks(
  { clickhouse, knownPrompts }: { clickhouse: ClickHouse; knownPrompts: PromptFinder },
  trace: TraceKey,
): Promise<ReadonlyMap<string, SpanPrompt>> {
  const rows = await runClickHouse(async () => {
    const result = await clickhouse.query({
      query: `SELECT lower(hex(span_id)) AS id, if(parent_span_id = unhex('0000000000000000'), '', lower(hex(parent_span_id))) AS parent,
                start_unix_nano AS start, kind, response_id,
                prompt_id, prompt_name, prompt_version, prompt_raw_version, prompt_source, prompt_key
              FROM (SELECT *, ${blockColumn} AS block FROM spans
                    PREWHERE ${ofTrace} AND (SELECT count() > 0 FROM spans WHERE ${ofTrace} AND prompt_source != '')
                    ORDER BY received_at DESC, block DESC LIMIT 1 BY span_id)
              ORDER BY start_unix_nano, span_id LIMIT ${spansPerTraceMax}`,
      query_params: { ...trace },
      format: 'JSONEachRow',
    });
    return result.json<Row>();
  });
  const spans = await resolveSpanPrompts(knownPrompts, trace.projectId, rows.map(toLinkable));
  return linkPrompts(spans);
}

function toLinkable(row: Row): LinkableSpan {
  return {
    spanId: row.id,
    parentSpanId: row.parent,
    startUnixNano: BigInt(row.start),
    kind: row.kind,
    responseId: row.response_id,
    prompt: ownPrompt(row),
  };
}

/** Returns what a span itself says about its prompt, or null. */
export function ownPrompt(row: PromptColumns): SpanPrompt | null {
  if (row.prompt_source === '') return null;
  return {
    id: row.prompt_id,
    name: row.prompt_name,
    version: row.prompt_version,
    rawVersion: row.prompt_raw_version,
    source: row.prompt_source,
    key: row.prompt_key,
  };
}
