import type { Config } from '../../../config.ts';
import type { BodyPublisher } from '../../../queue/body-publisher.ts';
import { createLateness } from '../../../queue/lane-lateness.ts';
import { QueueGate, type QueueGateDeps } from './queue-gate.ts';

/** Creates the gate of a process. It is closed until its `start` is called. */
export function createQueueGate({
  config,
  publisher,
  ...deps
}: Pick<QueueGateDeps, 'redis' | 'clock' | 'logger'> & {
  config: Pick<Config, 'ingestQueueBytesMax'>;
  publisher: BodyPublisher;
}): QueueGate {
  return new QueueGate({
    ...deps,
    waitingSinceMs: createLateness(publisher.queues, () => deps.clock.nowMs()),
    backlogOf: (workspaceId) => publisher.backlogOf(workspaceId),
    memoryBytesMax: config.ingestQueueBytesMax,
  });
}
