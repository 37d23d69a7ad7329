import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { type SpanStatus, spansPerTraceMax, toUsage } from './light-span.ts';
import { blockColumn, newestRows, ofTrace, type RowAge, rowsFor } from './newest-rows.ts';
import { hostAttributes, hostKeyOf } from './tree/host-key.ts';
import type { TreeSpan } from './tree-span.ts';

/** The spans of a trace that are read: the earliest {@link spansPerTraceMax}. */
export interface TreeSpans {
  spans: TreeSpan[];
  /** Whether the trace has more. */
  truncated: boolean;
}

const noParent = "unhex('0000000000000000')";

/** Of a resource's attributes; an address list has its addresses as an array. */
const attributesType = `Array(Tuple(key String, value Tuple(
  stringValue String, arrayValue Tuple(values Array(Tuple(stringValue String))))))`;
const resourceAttributes = `JSONExtract(toString(resource), 'attributes', '${attributesType}')`;
const hostNames = hostAttributes.map((name) => `'${name}'`).join(', ');

/** Selected in this order; {@link toTreeSpan} reads by it. */
const columns = [
  'lower(hex(span_id))',
  `if(parent_span_id = ${noParent}, '', lower(hex(parent_span_id)))`,
  'start_unix_nano',
  'end_unix_nano',
  'kind',
  'name',
  'status',
  'service',
  'model',
  'if(has_usage, [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens], [])',
  "if(cost_source = 'none', NULL, cost_nano_usd)",
  'response_id',
  'prompt_id',
  'prompt_name',
  'prompt_version',
  'prompt_raw_version',
  'prompt_source',
  'prompt_key',
  'otel_kind',
  'flags',
  'ttft_ms',
  'warnings',
  "JSONExtractString(toString(scope), 'name')",
  `arrayMap(a -> [a.1, if(a.2.1 = '', a.2.2.1[1].1, a.2.1)], arrayFilter(a -> a.1 IN (${hostNames}), ${resourceAttributes}))`,
  `if(empty(${resourceAttributes}), '', lower(hex(cityHash64(toString(resource)))))`,
  `arrayMap(e -> [e.1, e.2], JSONExtract(events, 'Array(Tuple(name String, timeUnixNano String))'))`,
  'toUnixTimestamp64Milli(received_at)',
  blockColumn,
] as const;

type Row = [
  spanId: string,
  parentSpanId: string,
  startUnixNano: string,
  endUnixNano: string,
  kind: string,
  name: string,
  status: SpanStatus,
  service: string,
  model: string,
  usage: number[],
  costNanoUsd: string | null,
  responseId: string,
  promptId: string,
  promptName: string,
  promptVersion: number,
  promptRawVersion: string,
  promptSource: string,
  promptKey: string,
  otelKind: number,
  flags: number,
  ttftMs: number | null,
  warnings: string[],
  scope: string,
  hostAttributes: [string, string][],
  resourceHash: string,
  events: [name: string, timeUnixNano: string][],
  receivedAtMs: string,
  block: string,
];

/**
 * The spans of one trace with what their tree and timeline are made of, each once as last received. `traceId` is 32 hex digits.
 * Throws UnavailableError while the trace store is away.
 */
export async function findTreeSpans(clickhouse: ClickHouse, projectId: string, traceId: string): Promise<TreeSpans> {
  const rows = await runClickHouse(async () => {
    const result = await clickhouse.query({
      query: `SELECT ${columns.join(', ')} FROM spans PREWHERE ${ofTrace}
              ORDER BY start_unix_nano, span_id LIMIT ${rowsFor(spansPerTraceMax + 1)}`,
      query_params: { projectId, traceId },
      format: 'JSONCompactEachRow',
    });
    return result.json<Row>();
  });
  const newest = newestRows(rows, ageOf);
  const spans = newest.slice(0, spansPerTraceMax).map(({ row }) => toTreeSpan(row));
  return { spans, truncated: newest.length > spansPerTraceMax };
}

function ageOf(row: Row): RowAge {
  return { spanId: row[0], receivedAtMs: Number(row[26]), block: Number(row[27]) };
}

function toTreeSpan(row: Row): TreeSpan {
  return {
    spanId: row[0],
    parentSpanId: row[1],
    startUnixNano: BigInt(row[2]),
    endUnixNano: BigInt(row[3]),
    kind: row[4],
    name: row[5],
    status: row[6],
    service: row[7],
    model: row[8],
    usage: toUsage(row[9]),
    costNanoUsd: row[10] === null ? null : BigInt(row[10]),
    responseId: row[11],
    prompt:
      row[16] === ''
        ? null
        : { id: row[12], name: row[13], version: row[14], rawVersion: row[15], source: row[16], key: row[17] },
    otelKind: row[18],
    flags: row[19],
    ttftMs: row[20],
    warnings: row[21],
    scope: row[22],
    hostKey: hostKeyOf({ attributes: Object.fromEntries(row[23]), resourceHash: row[24] }),
    skewNano: 0n,
    skewRefused: false,
    events: row[25].map(([name, time]) => ({ name, timeUnixNano: BigInt(time) })),
  };
}
