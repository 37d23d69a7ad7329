import { type LightSpan, resolveSpanPrompts } from '../../src/domains/executions/index.ts';
import {
  decodeTraces,
  inflateBounded,
  lightSpanOf,
  linkListedPrompts,
  normaliseSpan,
  type OtlpLimits,
  promptMention,
  type SpanRow,
  spanTable,
  typeAttributes,
} from '../../src/domains/ingestion/index.ts';
import type { Prices } from '../../src/domains/pricing/index.ts';
import type { KnownPrompts } from '../../src/domains/prompts/index.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import type { EncodedRows } from '../../src/stores/clickhouse/native-table.ts';
import { costOfSpan } from './cost-of-span.ts';

/** What a body has of one trace. */
export interface TraceShare {
  traceId: string;
  spans: number;
}

/** A body turned into rows of `spans`. */
export interface EncodedBody {
  rows: EncodedRows;
  spanCount: number;
  /** Each trace that the body has spans of, once. */
  traces: readonly TraceShare[];
  /** The light half of each row for summing up; absent for a large body, whose traces are then read from the store. */
  lightSpans?: readonly LightSpan[];
}

/** Bytes as received to rows, in one pass. Throws what inflating and decoding throw, when the body is not what the edge scan saw. */
export async function encodeBody(
  deps: { limits: OtlpLimits; knownPrompts: KnownPrompts },
  payload: IngestBodyPayload,
  body: Buffer,
  prices: Prices,
): Promise<EncodedBody> {
  const { projectId, receivedAtMs, retentionDays } = payload;
  const inflated = await inflateBounded(payload.coding, body, deps.limits.inflatedBytesMax);
  const spans = decodeTraces(payload.encoding, inflated, deps.limits);
  const unlinked = spans.map((span): SpanRow => {
    const normalised = normaliseSpan(span);
    const prompt = promptMention(normalised.promptRef);
    return {
      projectId,
      receivedAtMs,
      retentionDays,
      span,
      attributes: typeAttributes(span.attributes),
      normalised,
      prompt,
      cost: costOfSpan(prices, normalised, span.startUnixNano),
    };
  });
  const linked = await resolveSpanPrompts(deps.knownPrompts, projectId, unlinked);
  const rows = await linkListedPrompts(deps.knownPrompts, projectId, linked);
  return {
    rows: spanTable.encode(rows),
    spanCount: rows.length,
    traces: tracesOf(rows),
    lightSpans: rows.map(lightSpanOf),
  };
}

function tracesOf(rows: readonly SpanRow[]): TraceShare[] {
  const spans = new Map<string, number>();
  for (const { span } of rows) spans.set(span.traceId, (spans.get(span.traceId) ?? 0) + 1);
  return Array.from(spans, ([traceId, count]) => ({ traceId, spans: count }));
}
