import { mapInSlices } from '../../../lib/pace.ts';
import { decodeTraces, lastSent } from '../../../otlp/decode.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import type { EncodedRows } from '../../../stores/clickhouse/native-table.ts';
import { bodyBudget, normalizeSpan } from '../../conventions/index.ts';
import type { Prices } from '../../pricing/index.ts';
import { linkListedPrompts, type PromptFinder, promptMention, resolveSpanPrompts } from '../../prompt-links/index.ts';
import { type LightSpan, lightSpanOf, type SpanRow, spanTable, typeAttributes } from '../../spans/index.ts';
import { BadBodyError } from './body-errors.ts';
import { costOfSpan } from './span-cost.ts';

/** The spans that a body has of one trace. */
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
  /**
   * The light spans of all rows, for summaries. Absent for a large body: its traces are then read
   * from ClickHouse.
   */
  lightSpans?: readonly LightSpan[];
}

/** For more spans a thread sends the light spans in chunks, see encode-thread.ts. */
const lightSpansMax = 1_000;

/**
 * Turns an inflated body into rows, without looking up their prompts. Other work runs between
 * spans.
 * @throws BadBodyError when the body is not what the API accepted: it does not decode, or has
 * another number of spans
 */
export async function readRows(
  { payload, limits, prices }: { payload: IngestBodyPayload; limits: OtlpLimits; prices: Prices },
  inflated: Buffer,
): Promise<SpanRow[]> {
  const { projectId, receivedAtMs, retentionDays } = payload;
  const decoded = decode(payload, inflated, limits);
  const budget = bodyBudget();
  return mapInSlices(lastSent(decoded), (span): SpanRow => {
    const normalized = normalizeSpan(span, budget);
    return {
      projectId,
      receivedAtMs,
      retentionDays,
      span,
      attributes: typeAttributes(span.attributes),
      normalized,
      prompt: promptMention(normalized.promptRef),
      cost: costOfSpan(prices, normalized, span.startUnixNano),
    };
  });
}

/** Links the rows to those prompts that exist in the project. Never rejects. */
export async function linkRows(
  finder: PromptFinder,
  projectId: string,
  rows: readonly SpanRow[],
): Promise<readonly SpanRow[]> {
  return linkListedPrompts(finder, projectId, await resolveSpanPrompts(finder, projectId, rows));
}

/** Encodes rows for ClickHouse and counts the spans of each trace. */
export function encodeRows(rows: readonly SpanRow[]): EncodedBody {
  return {
    rows: spanTable.encode(rows),
    spanCount: rows.length,
    traces: tracesOf(rows),
    ...(rows.length <= lightSpansMax && { lightSpans: rows.map(lightSpanOf) }),
  };
}

function decode(payload: IngestBodyPayload, inflated: Buffer, limits: OtlpLimits) {
  const spans = decodeTraces(payload.encoding, inflated, limits);
  if (spans.length === payload.spans && spans.length > 0) return spans;
  throw new BadBodyError(`The body decodes to ${spans.length} spans, ${payload.spans} were accepted`);
}

function tracesOf(rows: readonly SpanRow[]): TraceShare[] {
  const spans = new Map<string, number>();
  for (const { span } of rows) spans.set(span.traceId, (spans.get(span.traceId) ?? 0) + 1);
  return Array.from(spans, ([traceId, count]) => ({ traceId, spans: count }));
}
