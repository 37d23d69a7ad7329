import type { IncomingHttpHeaders } from 'node:http';
import { MalformedError, UnavailableError, UnsupportedMediaTypeError } from '../../../lib/errors.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import { type ContentCoding, type OtlpEncoding, readContentCoding, readEncoding } from '../../../otlp/media-type.ts';
import type { ScanResult } from '../../../otlp/scan.ts';
import type { Signal } from '../../../otlp/signal.ts';
import type { BodyMeter } from '../../../queue/body-publisher.ts';
import { sizeOf } from '../../../queue/ingest-lanes.ts';
import { type IngestCost, nothingStored } from '../../quotas/index.ts';
import type { ProjectScope } from '../../workspaces/index.ts';
import type { Admission } from './admission.ts';
import type { BodyExaminer, ExaminedBody } from './examine-body.ts';
import { jobIdOf, type KeepBodyDeps, keepBody } from './keep-body.ts';

export interface ReceiveBodyDeps extends KeepBodyDeps {
  admission: Admission;
  examiner: BodyExaminer;
  limits: OtlpLimits;
}

/**
 * Charges the cost of a request to the limits of its workspace.
 * @throws the error of the limit that refuses
 */
export type Charge = (
  cost: IngestCost,
  receivedAtMs: number,
  wasReceived?: () => Promise<boolean>,
) => Promise<BodyMeter[]>;

/** One OTLP request. */
export interface OtlpRequest {
  signal: Signal;
  headers: IncomingHttpHeaders;
  /** Reads the request body. */
  receive: (bytesMax: number) => Promise<Buffer>;
  charge: Charge;
}

interface BodyAsSent {
  encoding: OtlpEncoding;
  coding: ContentCoding;
  body: Buffer;
}

/** A body, and how it is charged when it is kept. */
interface BodyToKeep extends BodyAsSent {
  signal: Signal;
  /** What is charged if nothing of it is stored. */
  cost: IngestCost;
  receivedAtMs: number;
  charge: Charge;
}

/**
 * Receives one OTLP request: reads and inflates the body within bounds, scans it for faults, and
 * stores it durably as received with a job that names it. Resolves only then. It takes a place
 * after the body has arrived, so that a slow sender blocks no other, and has none while the body waits for its turn to be
 * examined.
 * @throws MalformedError, TooLargeError or UnsupportedMediaTypeError when the request is invalid
 * @throws RateLimitedError when the workspace has too many requests in progress
 * @throws UnavailableError when the body could not be stored
 * @throws what `charge` throws
 */
export async function receiveBody(
  deps: ReceiveBodyDeps,
  project: ProjectScope,
  { signal, headers, receive, charge }: OtlpRequest,
): Promise<ScanResult> {
  const { workspaceId } = project;
  await deps.gate.assertRoomFor(workspaceId);
  deps.admission.assertRoom(workspaceId);
  const cost = { requests: 1, bytes: 0, stored: nothingStored };
  let isCharged = false;
  const chargeOnce: Charge = (...given) => {
    isCharged = true;
    return charge(...given);
  };
  try {
    const received = await readRequest(deps, headers, receive);
    // The time of receipt is taken after the whole body arrived. With an earlier time, the spans of a
    // slow sender would count as older than spans that arrived in between.
    const receivedAtMs = deps.clock.nowMs();
    cost.bytes = received.body.length;
    const toKeep = { ...received, signal, cost, receivedAtMs, charge: chargeOnce };
    const outcome = await deps.admission.hold(workspaceId, async () => {
      const examined = await deps.examiner.examine({ workspaceId, signal, ...received });
      return typeof examined === 'function' ? examined : keepExamined(deps, project, toKeep, examined);
    });
    if (typeof outcome !== 'function') return outcome;
    const examined = await outcome();
    return await deps.admission.hold(workspaceId, () => keepExamined(deps, project, toKeep, examined));
  } catch (error) {
    // A refused request is charged too, also when the workspace is busy. Otherwise a sender of invalid bodies, or of more
    // than fit, would have no limit. What the state of the server refuses is not.
    if (!isCharged && !(error instanceof UnavailableError)) await charge(cost, deps.clock.nowMs());
    throw error;
  }
}

async function readRequest(
  { limits }: ReceiveBodyDeps,
  headers: IncomingHttpHeaders,
  receive: OtlpRequest['receive'],
): Promise<BodyAsSent> {
  const form = readHeaders(headers);
  return { ...form, body: await receive(limits.bodyBytesMax) };
}

/** Stores a body of which something is accepted, and charges it. */
async function keepExamined(
  deps: ReceiveBodyDeps,
  project: ProjectScope,
  { body, signal, cost, receivedAtMs, charge, ...form }: BodyToKeep,
  { scan, inflatedBytes }: ExaminedBody,
): Promise<ScanResult> {
  const { accepted, rejected, repeatedBytes } = scan;
  if (accepted === 0 && rejected > 0) throw allRejected(signal, scan);
  // Log records are no spans, but none are stored for a workspace whose quota of spans is used up.
  const isLogs = signal === 'logs';
  const stored = { spans: isLogs ? 0 : accepted, bytes: accepted === 0 ? 0 : inflatedBytes + repeatedBytes };
  const metered = { stored, needsQuota: isLogs && accepted > 0 };
  // The job id depends on project and request only: a resend gives the same job, and an equal
  // body of another project or signal does not.
  const named = isLogs ? { signal } : {};
  const jobId = jobIdOf([project.projectId, ...Object.values(named), form.encoding, form.coding], body);
  const charges = {
    kept: () => charge({ ...cost, ...metered }, receivedAtMs, () => deps.publisher.isKnown(jobId)),
    refused: () => charge(cost, receivedAtMs),
  };
  if (accepted === 0) {
    await charges.kept();
    return scan;
  }
  const size = sizeOf({ inflatedBytes, spans: accepted, repeatedBytes });
  await keepBody(deps, project, { jobId, body, ...named, ...form, ...size, receivedAtMs }, charges);
  return scan;
}

/**
 * Reads how a body is encoded.
 * @throws UnsupportedMediaTypeError for any other type or coding
 */
export function readHeaders(headers: IncomingHttpHeaders): { encoding: OtlpEncoding; coding: ContentCoding } {
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
      `Content-Encoding ${JSON.stringify(headers['content-encoding'])} is not supported; send gzip, deflate or no Content-Encoding.`,
    );
  }
  return { encoding, coding };
}

/**
 * Creates the error for a request whose spans or log records were all rejected. Nothing can be
 * stored, so this is not a partial success.
 */
function allRejected(signal: Signal, scan: ScanResult): MalformedError {
  const [items, path] = signal === 'logs' ? ['log records', 'resource_logs'] : ['spans', 'resource_spans'];
  return new MalformedError(
    'spans_rejected',
    `All ${scan.rejected} ${items} were rejected: ${scan.reasons.join('; ')}`,
    {
      errors: scan.reasons.map((message) => ({ path, code: 'span_rejected', message })),
    },
  );
}
