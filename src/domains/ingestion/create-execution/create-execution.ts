import { createHash } from 'node:crypto';
import { sharedThird } from '../../../lib/pace.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import { nothingStored } from '../../quotas/index.ts';
import type { ProjectScope } from '../../workspaces/index.ts';
import type { Admission } from '../receive/admission.ts';
import type { BodyWaits } from '../receive/body-waits.ts';
import { jobIdOf, type KeepBodyDeps, keepBody } from '../receive/keep-body.ts';
import type { Charge } from '../receive/receive-body.ts';
import { checkSpans } from './check-spans.ts';
import { encodeExecution } from './encode-execution.ts';
import type { ExecutionBody } from './execution-body.ts';
import { resolveSpans } from './resolve-spans.ts';

export interface CreateExecutionDeps extends KeepBodyDeps {
  admission: Admission;
  waits: BodyWaits;
  limits: OtlpLimits;
}

export interface CreateExecutionInput {
  project: ProjectScope;
  body: ExecutionBody;
  charge: Charge;
  /**
   * The same for every run of one request. Trace and job are named after it, so they exist once.
   */
  effectId: string;
  /** How long to wait until the spans are readable, in milliseconds; undefined for no wait. */
  waitMs: number | undefined;
  /** Aborted when the client no longer waits. */
  signal: AbortSignal;
}

export interface CreatedExecution {
  traceId: string;
  status: 'queued' | 'stored' | 'quarantined';
  /** Whether the requested wait took place. */
  waited: boolean;
}

/**
 * Turns an execution in JSON into one OTLP request and queues it, as every other span is queued.
 * Resolves once the request is durable or, when asked to wait, once the spans are readable.
 * @throws InvalidError when spans conflict or a time is out of range
 * @throws TooLargeError when the OTLP request is too large
 * @throws UnavailableError when it could not be queued
 */
export async function createExecution(
  deps: CreateExecutionDeps,
  { project, body, charge, effectId, waitMs, signal }: CreateExecutionInput,
): Promise<CreatedExecution> {
  const traceId = body.trace_id ?? traceIdOf(project, effectId);
  await deps.gate.assertRoomFor(project.workspaceId);
  const jobId = await deps.admission.hold(project.workspaceId, () =>
    keepExecution(deps, project, { body, charge, traceId, effectId }),
  );
  if (waitMs === undefined) return { traceId, status: 'queued', waited: false };
  const { workspaceId, projectId } = project;
  const result = await deps.waits.wait({ jobId, projectId, traceId }, { workspaceId, timeoutMs: waitMs, signal });
  const isKnown = result === 'stored' || result === 'quarantined';
  return { traceId, status: isKnown ? result : 'queued', waited: result !== 'not_waited' };
}

interface KeptExecution {
  body: ExecutionBody;
  charge: Charge;
  traceId: string;
  effectId: string;
}

async function keepExecution(
  deps: CreateExecutionDeps,
  project: ProjectScope,
  { body, charge, traceId, effectId }: KeptExecution,
): Promise<string> {
  const receivedAtMs = deps.clock.nowMs();
  // A worker inflates no more than the second of these, from the body or not.
  const { bodyBytesMax, inflatedBytesMax, messagesMax } = deps.limits;
  const bytesMax = Math.min(bodyBytesMax, inflatedBytesMax);
  const { spans, bytes } = await deps.admission.convert(project.workspaceId, async () => {
    const rest = sharedThird(project.workspaceId);
    const resolved = await resolveSpans(await checkSpans(body, rest), { traceId, nowMs: receivedAtMs, rest });
    return {
      spans: resolved.length,
      bytes: await encodeExecution(traceId, resolved, { rest, bytesMax, messagesMax }),
    };
  });
  // The job is named after the request, not after its bytes. The same body in a new request is a
  // new write: it replaces what was written in between. A repeated run of one request is the same
  // delivery, even if its times differ.
  const jobId = jobIdOf([project.projectId, 'execution', effectId], noBytes);
  const cost = { requests: undefined, bytes: bytes.length };
  const facts = { encoding: 'json' as const, coding: 'identity' as const, inflatedBytes: bytes.length };
  await keepBody(
    deps,
    project,
    { jobId, body: bytes, ...facts, spans, receivedAtMs },
    {
      kept: () =>
        charge({ ...cost, stored: { spans, bytes: bytes.length } }, receivedAtMs, () => deps.publisher.isKnown(jobId)),
      refused: () => charge({ ...cost, stored: nothingStored }, receivedAtMs),
    },
  );
  return jobId;
}

const noBytes = Buffer.alloc(0);

/** Returns a trace id of 32 hex digits. */
function traceIdOf({ projectId }: ProjectScope, effectId: string): string {
  return createHash('sha256').update(`${projectId}\ntrace\n${effectId}`).digest('hex').slice(0, 32);
}
