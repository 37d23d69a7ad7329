import {
  decodeTraces,
  inflateBounded,
  normaliseSpan,
  type OtlpLimits,
  writeSpanRow,
} from '../../src/domains/ingestion/index.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import { RowBinaryWriter } from '../../src/stores/clickhouse/row-binary.ts';

/** A body turned into rows of `spans`, and the traces they belong to. */
export interface EncodedBody {
  rows: Buffer;
  rowCount: number;
  traceIds: ReadonlySet<string>;
}

/** One for all bodies: writing is synchronous and its result is copied out. */
const writer = new RowBinaryWriter(1024 * 1024);

/** Bytes as received to rows, in one pass. Throws what inflating and decoding throw, when the body is not what the edge scan saw. */
export async function encodeBody(payload: IngestBodyPayload, body: Buffer, limits: OtlpLimits): Promise<EncodedBody> {
  const inflated = await inflateBounded(payload.coding, body, limits.inflatedBytesMax);
  const spans = decodeTraces(payload.encoding, inflated, limits);
  const traceIds = new Set<string>();
  writer.reset();
  for (const span of spans) {
    writeSpanRow(writer, {
      projectId: payload.projectId,
      receivedAtMs: payload.receivedAtMs,
      retentionDays: payload.retentionDays,
      span,
      normalised: normaliseSpan(span),
    });
    traceIds.add(span.traceId);
  }
  return { rows: Buffer.from(writer.bytes()), rowCount: spans.length, traceIds };
}
