import { createHash } from 'node:crypto';
import { backlogShareOf } from '../../../queue/backlog.ts';
import type { BodyPublisher, SpanMeter } from '../../../queue/body-publisher.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import type { RedisClock } from '../../../queue/redis-clock.ts';
import { limitsOf, type ProjectScope } from '../../workspaces/index.ts';
import type { QueueGate } from './queue-gate.ts';

export interface KeepBodyDeps {
  gate: QueueGate;
  publisher: BodyPublisher;
  /** Tells when something was received, so that all API processes agree on what came last. */
  clock: Pick<RedisClock, 'nowMs'>;
}

/** An OTLP body that has been found good, and the id of its job. */
export type ReceivedBody = Omit<IngestBodyPayload, 'v' | 'projectId' | 'workspaceId' | 'retentionDays'> & {
  jobId: string;
  body: Buffer;
  meter: SpanMeter;
};

/** Makes a body durable with a job that names it: the one way into the queue. Throws UnavailableError when it could not be kept. */
export async function keepBody(deps: KeepBodyDeps, project: ProjectScope, received: ReceivedBody): Promise<void> {
  const { jobId, body, meter, ...facts } = received;
  const { retentionDays } = limitsOf(project);
  const payload = {
    v: 1 as const,
    projectId: project.projectId,
    workspaceId: project.workspaceId,
    retentionDays,
    ...facts,
  };
  deps.gate.take(backlogShareOf(payload, body).bytes);
  try {
    const { backlogBytes } = await deps.publisher.publish(jobId, body, payload, meter);
    deps.gate.noteBacklog(project.workspaceId, backlogBytes);
  } catch (error) {
    deps.gate.reportFailure();
    throw error;
  }
}

/** The id of a body's job, which says what counts as the same delivery: equal bytes of an equal `identity`, the project first. */
export function jobIdOf(identity: readonly (string | number)[], body: Buffer): string {
  const hash = createHash('sha256')
    .update(`${identity.join('\n')}\n`)
    .update(body);
  return `b_${hash.digest('hex')}`;
}
