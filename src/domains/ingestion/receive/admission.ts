import { FairLane, requestWaitMsMax } from '../../../lib/fair-lane.ts';
import type { WorkspaceId } from '../../../lib/ids.ts';

const requestsMax = 64;
const requestsPerWorkspaceMax = 32;
/**
 * At some 3 ms of work a request, the last one of these waits a second. Who is refused comes back at once, as clients do, and each
 * refusal costs the event loop a millisecond.
 */
const waitingPerWorkspaceMax = 256;
const waitingMax = 1_024;
/**
 * Of the requests that are ready together so many are worked on before the others are looked at. Node takes one new connection in a
 * turn of its event loop, so in long turns clients would wait where nobody sees them, instead of being answered at once.
 */
const requestsPerTurn = 2;

/**
 * Bounds the bodies that one process works on at once, once they are there as a whole. Shared by all workspaces: one works on at most
 * 32 of 64 and has 256 more waiting; who waits is served in turn between workspaces. What is beyond is refused instead of waiting.
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
  /** What is converted in many slices: as many slices as there is work at once hold up the event loop one after the other. */
  readonly #conversions = new FairLane({
    name: 'executions',
    capacity: 2,
    perKey: 1,
    waitingPerKey: requestsPerWorkspaceMax,
    waitingMax: requestsMax,
    waitMsMax: requestWaitMsMax,
  });

  /** Throws as {@link hold} would, without taking a place: for what is known to be in vain before its body is read. */
  assertRoom(workspaceId: WorkspaceId): void {
    this.#places.assertRoom(workspaceId);
  }

  /** Converts an execution in its turn, of two, while its place is held. Throws as {@link hold}. */
  async convert<T>(workspaceId: WorkspaceId, work: () => Promise<T>): Promise<T> {
    return this.#conversions.run(workspaceId, work);
  }

  /** Runs `work` while its place is held. Throws RateLimitedError `workspace_busy` or UnavailableError `server_busy`. */
  async hold<T>(workspaceId: WorkspaceId, work: () => Promise<T>): Promise<T> {
    return this.#places.run(workspaceId, async () => {
      setImmediate(await this.#starts.enter(workspaceId));
      return work();
    });
  }
}
