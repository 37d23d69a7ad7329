import { createHash } from 'node:crypto';
import { backlogShareOf } from '../../../queue/backlog.ts';
import type { BodyMeter, BodyPublisher } from '../../../queue/body-publisher.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import type { RedisClock } from '../../../queue/redis-clock.ts';
import { limitsOf, type ProjectScope } from '../../workspaces/index.ts';
import type { QueueGate } from './queue-gate.ts';

export interface KeepBodyDeps {
  gate: QueueGate;
  publisher: BodyPublisher;
  /** Returns when a body was received, so that all API processes agree on which came last. */
  clock: Pick<RedisClock, 'nowMs'>;
}

/** A valid OTLP body and the id of its job. */
export type ReceivedBody = Omit<IngestBodyPayload, 'v' | 'projectId' | 'workspaceId' | 'retentionDays'> & {
  jobId: string;
  body: Buffer;
};

/** How a body is counted. */
export interface BodyCharge {
  /** Counts all of it, once there is room for it. Resolves to how it is metered when it is published. */
  kept(): Promise<BodyMeter[]>;
  /** Counts what a body without room has cost: the request and its received bytes, and nothing that is stored. */
  refused(): Promise<unknown>;
}

/**
 * Stores a body durably together with the job that names it. This is the only way into the queue.
 * @throws UnavailableError when it could not be stored
 * @throws what `charge` throws
 */
export async function keepBody(
  deps: KeepBodyDeps,
  project: ProjectScope,
  received: ReceivedBody,
  charge: BodyCharge,
): Promise<void> {
  const { jobId, body, ...facts } = received;
  const { retentionDays } = limitsOf(project);
  const payload = {
    v: 1 as const,
    projectId: project.projectId,
    workspaceId: project.workspaceId,
    retentionDays,
    ...facts,
  };
  const { bytes } = backlogShareOf(payload, body);
  try {
    deps.gate.take(bytes);
  } catch (error) {
    await charge.refused();
    throw error;
  }
  const meters = await charge.kept().catch((error: unknown) => {
    deps.gate.giveBack(bytes);
    throw error;
  });
  try {
    const { backlog } = await deps.publisher.publish(jobId, body, payload, meters);
    deps.gate.noteBacklog(project.workspaceId, backlog);
  } catch (error) {
    deps.gate.reportFailure();
    throw error;
  }
}

/**
 * Returns the id of a body's job. Equal bytes with an equal `identity` count as the same delivery.
 * The first member of `identity` is the project.
 */
export function jobIdOf(identity: readonly (string | number)[], body: Buffer): string {
  const hash = createHash('sha256')
    .update(`${identity.join('\n')}\n`)
    .update(body);
  return `b_${hash.digest('hex')}`;
}
