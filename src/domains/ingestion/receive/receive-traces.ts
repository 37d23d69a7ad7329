import type { IncomingHttpHeaders } from 'node:http';
import { MalformedError, RateLimitedError, UnavailableError, UnsupportedMediaTypeError } from '../../../lib/errors.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import { type ContentCoding, type OtlpEncoding, readContentCoding, readEncoding } from '../../../otlp/media-type.ts';
import type { ScanResult } from '../../../otlp/scan.ts';
import type { SpanMeter } from '../../../queue/body-publisher.ts';
import type { IngestCost } from '../../quotas/index.ts';
import type { ProjectScope } from '../../workspaces/index.ts';
import type { Admission } from './admission.ts';
import type { BodyExaminer, BodyToExamine, ExaminedBody } from './examine-body.ts';
import { jobIdOf, type KeepBodyDeps, keepBody } from './keep-body.ts';

export interface ReceiveTracesDeps extends KeepBodyDeps {
  admission: Admission;
  examiner: BodyExaminer;
  limits: OtlpLimits;
}

/** Draws what a request costs on the limits of its workspace. Throws when one refuses. */
export type Charge = (cost: IngestCost, receivedAtMs: number) => Promise<SpanMeter>;

/** One OTLP request. */
export interface TracesRequest {
  headers: IncomingHttpHeaders;
  /** Reads its body. */
  receive: (bytesMax: number) => Promise<Buffer>;
  charge: Charge;
}

/**
 * Takes one OTLP request: reads and inflates it within bounds, walks it for faults, and makes the body as received durable with a
 * job that names it. Resolves only then. A place is taken once the body is there, so that a slow sender holds up nobody. Throws
 * MalformedError, TooLargeError, UnsupportedMediaTypeError, what `charge` throws, RateLimitedError when the workspace has too much
 * under way, or UnavailableError when it could not be kept.
 */
export async function receiveTraces(
  deps: ReceiveTracesDeps,
  project: ProjectScope,
  { headers, receive, charge }: TracesRequest,
): Promise<ScanResult> {
  const { workspaceId } = project;
  await deps.gate.assertRoomFor(workspaceId);
  deps.admission.assertRoom(workspaceId);
  const cost = { requests: 1, bytes: 0, spans: 0 };
  // What cannot be taken counts as well, or a sender of nonsense would be the only one without a limit.
  const counted = <T>(work: Promise<T>) =>
    work.catch(async (error: unknown) => {
      if (!isOurs(error)) await charge(cost, deps.clock.nowMs());
      throw error;
    });
  const received = await counted(readRequest(deps, headers, receive));
  // Now that all of it is here: by an earlier time a slow sender's spans would count as older than what came meanwhile.
  const receivedAtMs = deps.clock.nowMs();
  cost.bytes = received.body.length;
  return deps.admission.hold(workspaceId, async () => {
    const { scan, inflatedBytes } = await counted(examine(deps, { workspaceId, ...received }));
    const meter = await charge({ ...cost, spans: scan.spans }, receivedAtMs);
    if (scan.spans === 0) return scan;
    const { body, ...form } = received;
    // Of tenant and request alone, so that a resend is the same job and another tenant's equal body is not.
    const jobId = jobIdOf([project.projectId, form.encoding, form.coding], body);
    await keepBody(deps, project, { jobId, body, meter, ...form, inflatedBytes, spans: scan.spans, receivedAtMs });
    return scan;
  });
}

/** Refused for what others send, or the server lacks. */
function isOurs(error: unknown): boolean {
  return error instanceof UnavailableError || error instanceof RateLimitedError;
}

async function readRequest(
  { limits }: ReceiveTracesDeps,
  headers: IncomingHttpHeaders,
  receive: TracesRequest['receive'],
): Promise<{ encoding: OtlpEncoding; coding: ContentCoding; body: Buffer }> {
  const form = readHeaders(headers);
  return { ...form, body: await receive(limits.bodyBytesMax) };
}

async function examine({ examiner }: ReceiveTracesDeps, received: BodyToExamine): Promise<ExaminedBody> {
  const examined = await examiner.examine(received);
  const { scan } = examined;
  if (scan.spans === 0 && scan.rejected > 0) throw allRejected(scan);
  return examined;
}

function readHeaders(headers: IncomingHttpHeaders): { encoding: OtlpEncoding; coding: ContentCoding } {
  const encoding = readEncoding(headers['content-type']);
  if (encoding === undefined) {
    throw new UnsupportedMediaTypeError(
      'unsupported_media_type',
      `Content-Type ${JSON.stringify(headers['content-type'] ?? '')} is not supported; send application/x-protobuf or application/json.`,
    );
  }
  const coding = readContentCoding(headers['content-encoding']);
  if (coding === undefined) {
    throw new UnsupportedMediaTypeError(
      'unsupported_content_encoding',
      `Content-Encoding ${JSON.stringify(headers['content-encoding'])} is not supported; send gzip, deflate or none.`,
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
