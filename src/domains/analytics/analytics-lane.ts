import { availableParallelism } from 'node:os';
import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../lib/fair-lane-options.ts';

/**
 * Statements of one request run on two threads each, and some at the same time. So one workspace has one place of three
 * on a small machine, and two on others.
 */
const perKey = availableParallelism() < 4 ? 1 : 2;

/**
 * Creates the lane of analytics of a process, shared by all workspaces, so that the dashboard of one does not occupy
 * ClickHouse.
 */
export function createAnalyticsLane(whyStuck: () => Error | undefined): FairLane {
  return new FairLane({
    name: 'analytics',
    capacity: 3,
    perKey,
    perBusyKey: 1,
    waitingPerKey: 16,
    waitingMax: 64,
    waitMsMax: requestWaitMsMax,
    whyStuck,
  });
}
