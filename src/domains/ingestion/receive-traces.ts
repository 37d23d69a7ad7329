import type { IncomingMessage } from 'node:http';
import { MalformedError, UnavailableError, UnsupportedMediaTypeError } from '../../lib/errors.ts';
import type { SpanMeter } from '../../queue/body-publisher.ts';
import type { IngestCost } from '../quotas/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { Admission } from './admission.ts';
import type { BodyInflater } from './inflate-body.ts';
import { jobIdOf, type KeepBodyDeps, keepBody } from './keep-body.ts';
import type { OtlpLimits } from './otlp/limits.ts';
import { type ContentCoding, type OtlpEncoding, readContentCoding, readEncoding } from './otlp/media-type.ts';
import type { ScanResult } from './otlp/scan.ts';
import { readBody } from './read-body.ts';
import type { BodyScanner } from './scan-body.ts';

export interface ReceiveTracesDeps extends KeepBodyDeps {
  admission: Admission;
  inflate: BodyInflater;
  scan: BodyScanner;
  limits: OtlpLimits;
}

/** Draws what a request costs on the limits of its workspace. Throws when one refuses. */
export type Charge = (cost: IngestCost, receivedAtMs: number) => Promise<SpanMeter>;

/**
 * Takes one OTLP request: reads and inflates it within bounds, walks it for faults, and makes the body as received durable with a
 * job that names it. Resolves only then. Throws MalformedError, TooLargeError, UnsupportedMediaTypeError, what `charge` throws, or
 * UnavailableError when it could not be kept.
 */
export async function receiveTraces(
  deps: ReceiveTracesDeps,
  project: ProjectScope,
  request: IncomingMessage,
  charge: Charge,
): Promise<ScanResult> {
  await deps.gate.assertRoomFor(project.workspaceId);
  const cost = { requests: 1, bytes: 0, spans: 0 };
  return deps.admission.hold(async (reserve) => {
    const read = await readRequest(deps, request, { reserve, cost }).catch(async (error: unknown) => {
      // What cannot be taken counts as well, or a sender of nonsense would be the only one without a limit.
      if (!(error instanceof UnavailableError)) await charge(cost, deps.clock.nowMs());
      throw error;
    });
    const { body, encoding, coding, inflatedBytes, scan } = read;
    // Now that all of it is here: by an earlier time a slow sender's spans would count as older than what came meanwhile.
    const receivedAtMs = deps.clock.nowMs();
    const meter = await charge({ ...cost, spans: scan.spans }, receivedAtMs);
    if (scan.spans === 0) return scan;
    // Of tenant and request alone, so that a resend is the same job and another tenant's equal body is not.
    const jobId = jobIdOf([project.projectId, encoding, coding], body);
    const facts = { encoding, coding, inflatedBytes, spans: scan.spans, receivedAtMs };
    await keepBody(deps, project, { jobId, body, meter, ...facts });
    return scan;
  });
}

/** Reads, inflates and walks the request; notes in `cost` what was received even when it turns out to be no good. */
async function readRequest(
  deps: ReceiveTracesDeps,
  request: IncomingMessage,
  { reserve, cost }: { reserve: (bytes: number) => void; cost: IngestCost },
): Promise<{ encoding: OtlpEncoding; coding: ContentCoding; body: Buffer; inflatedBytes: number; scan: ScanResult }> {
  const { encoding, coding } = readHeaders(request);
  const body = await readBody(request, deps.limits.bodyBytesMax);
  cost.bytes = body.length;
  reserve(body.length);
  const inflated = await deps.inflate(coding, body);
  const scan = await deps.scan(encoding, inflated);
  if (scan.spans === 0 && scan.rejected > 0) throw allRejected(scan);
  return { encoding, coding, body, inflatedBytes: inflated.length, scan };
}

function readHeaders(request: IncomingMessage): { encoding: OtlpEncoding; coding: ContentCoding } {
  const encoding = readEncoding(request.headers['content-type']);
  if (encoding === undefined) {
    throw new UnsupportedMediaTypeError(
      'unsupported_media_type',
      `Content-Type ${JSON.stringify(request.headers['content-type'] ?? '')} is not supported; send application/x-protobuf or application/json.`,
    );
  }
  const coding = readContentCoding(request.headers['content-encoding']);
  if (coding === undefined) {
    throw new UnsupportedMediaTypeError(
      'unsupported_content_encoding',
      `Content-Encoding ${JSON.stringify(request.headers['content-encoding'])} is not supported; send gzip, deflate or none.`,
    );
  }
  return { encoding, coding };
}

/** Every span refused is what a logs export posted here looks like: nothing to keep, so not a partial success. */
function allRejected(scan: ScanResult): MalformedError {
  return new MalformedError('spans_rejected', `All ${scan.rejected} spans were rejected: ${scan.reasons.join('; ')}`, {
    errors: scan.reasons.map((reason) => ({ path: 'resource_spans', code: 'span_rejected', message: reason })),
  });
}
