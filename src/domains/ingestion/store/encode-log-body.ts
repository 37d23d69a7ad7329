import { decodeLogs } from '../../../otlp/decode-logs.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import { encodeLogs } from '../../log-records/reads.ts';
import { decodeItems, type EncodedBody, sharesOf } from './encode-body.ts';

/**
 * Encodes the log records of a body that are kept.
 * @throws BadBodyError when the body is not what the API accepted
 */
export async function encodeLogBody(
  { payload, limits, keepOther }: { payload: IngestBodyPayload; limits: OtlpLimits; keepOther: boolean },
  { body, inflated }: { body: Uint8Array; inflated: Buffer },
): Promise<EncodedBody> {
  const records = decodeItems(payload, inflated, limits, decodeLogs);
  const { rows, rowCount, spans, outcomes } = await encodeLogs({ ...payload, body, records, keepOther });
  return {
    rows,
    spanCount: rowCount,
    traces: sharesOf(spans.map(({ traceId, records: n }) => [traceId, n])),
    outcomes,
  };
}
