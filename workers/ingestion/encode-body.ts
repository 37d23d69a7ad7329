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

/** A body turned into rows of `spans`, and the light half of each row for summing up. */
export interface EncodedBody {
  rows: EncodedRows;
  lightSpans: readonly LightSpan[];
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
  return { rows: spanTable.encode(rows), lightSpans: rows.map(lightSpanOf) };
}
