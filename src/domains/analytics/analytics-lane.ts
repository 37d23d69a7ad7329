import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../lib/fair-lane-options.ts';

/**
 * Creates the lane of analytics of a process, shared by all workspaces. One workspace has two of three
 * places, so that its dashboard does not occupy ClickHouse.
 */
export function createAnalyticsLane(whyStuck: () => Error | undefined): FairLane {
  return new FairLane({
    name: 'analytics',
    capacity: 3,
    perKey: 2,
    perBusyKey: 1,
    waitingPerKey: 16,
    waitingMax: 64,
    waitMsMax: requestWaitMsMax,
    whyStuck,
  });
}
