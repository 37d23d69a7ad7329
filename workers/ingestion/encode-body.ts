import type { LightSpan } from '../../src/domains/executions/index.ts';
import {
  costAsReported,
  decodeTraces,
  inflateBounded,
  lightSpanOf,
  normaliseSpan,
  type OtlpLimits,
  type SpanRow,
  spanTable,
  typeAttributes,
} from '../../src/domains/ingestion/index.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import type { EncodedRows } from '../../src/stores/clickhouse/native-table.ts';

/** A body turned into rows of `spans`, and the light half of each row for summing up. */
export interface EncodedBody {
  rows: EncodedRows;
  lightSpans: readonly LightSpan[];
}

/** Bytes as received to rows, in one pass. Throws what inflating and decoding throw, when the body is not what the edge scan saw. */
export async function encodeBody(payload: IngestBodyPayload, body: Buffer, limits: OtlpLimits): Promise<EncodedBody> {
  const { projectId, receivedAtMs, retentionDays } = payload;
  const inflated = await inflateBounded(payload.coding, body, limits.inflatedBytesMax);
  const spans = decodeTraces(payload.encoding, inflated, limits);
  const rows = spans.map((span): SpanRow => {
    const normalised = normaliseSpan(span);
    const attributes = typeAttributes(span.attributes);
    return { projectId, receivedAtMs, retentionDays, span, attributes, normalised, cost: costAsReported(normalised) };
  });
  return { rows: spanTable.encode(rows), lightSpans: rows.map(lightSpanOf) };
}
