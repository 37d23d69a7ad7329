import { FairLane } from '../../../lib/fair-lane.ts';
import { requestWaitMsMax } from '../../../lib/fair-lane-options.ts';
import type { WorkspaceId } from '../../../lib/ids.ts';

const requestsMax = 64;
const requestsPerWorkspaceMax = 32;
/**
 * At about 3 ms of work per request, the last of these waits one second. A refused client comes
 * back immediately, and each refusal costs the event loop one millisecond.
 */
const waitingPerWorkspaceMax = 256;
const waitingMax = 1_024;
/**
 * Requests that start in one turn of the event loop. Node accepts one new connection per turn, so
 * long turns would keep new clients waiting, unseen, instead of being answered immediately.
 */
const requestsPerTurn = 2;

/**
 * Bounds the request bodies that one process works on at the same time, after each has arrived completely.
 * Shared by all workspaces: one workspace has at most 32 of 64 places and 256 more requests
 * waiting. Waiting requests are served in turn between workspaces; more than that are refused.
 */
export class Admission {
  readonly #places = new FairLane({
    name: 'bodies of spans',
    capacity: requestsMax,
    perKey: requestsPerWorkspaceMax,
    waitingPerKey: waitingPerWorkspaceMax,
    waitingMax,
    waitMsMax: requestWaitMsMax,
  });
  readonly #starts = new FairLane({
    name: 'bodies of spans',
    capacity: requestsPerTurn,
    perKey: requestsPerTurn,
    waitingPerKey: requestsPerWorkspaceMax,
    waitingMax: requestsMax,
  });
  /**
   * Each conversion runs in many slices. If many ran at the same time, their slices would block the event
   * loop one after the other.
   */
  readonly #conversions = new FairLane({
    name: 'executions',
    capacity: 2,
    perKey: 1,
    waitingPerKey: requestsPerWorkspaceMax,
    waitingMax: requestsMax,
    waitMsMax: requestWaitMsMax,
  });

  /**
   * Checks for room before a body is read, without taking a place.
   * @throws the errors of {@link hold}
   */
  assertRoom(workspaceId: WorkspaceId): void {
    this.#places.assertRoom(workspaceId);
  }

  /**
   * Converts an execution while its place is held, at most two at a time.
   * @throws the errors of {@link hold}
   */
  async convert<T>(workspaceId: WorkspaceId, work: () => Promise<T>): Promise<T> {
    return this.#conversions.run(workspaceId, work);
  }

  /**
   * Runs `work` while its place is held.
   * @throws RateLimitedError `workspace_busy` when the workspace has too many requests
   * @throws UnavailableError `server_busy` when all workspaces together have too many
   */
  async hold<T>(workspaceId: WorkspaceId, work: () => Promise<T>): Promise<T> {
    return this.#places.run(workspaceId, async () => {
      setImmediate(await this.#starts.enter(workspaceId));
      return work();
    });
  }
}
