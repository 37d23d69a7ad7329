import { RateLimitedError, UnavailableError } from './errors.ts';
import type { FairLaneOptions } from './fair-lane-options.ts';

/** A lane counts as shared for this time after two different keys used it. */
const companyMs = 1_000;

/** Records whether one key or several keys use a lane. */
export class LaneCompany {
  #lastKey: string | undefined;
  /** When two different keys last came one after the other. */
  #changedAtMs = Number.NEGATIVE_INFINITY;

  /** Whether more than one key came within the last second. */
  get isShared(): boolean {
    return performance.now() - this.#changedAtMs < companyMs;
  }

  note(key: string): void {
    if (key === this.#lastKey) return;
    if (this.#lastKey !== undefined) this.#changedAtMs = performance.now();
    this.#lastKey = key;
  }
}

type Named = Pick<FairLaneOptions, 'name' | 'waitingPerKey' | 'waitMsMax' | 'whyStuck'>;

const lateRetryAfterS = 5;

/** Returns the error for work of a key that has too much in progress or waiting. */
export function ownTooMany({ name, waitingPerKey, whyStuck }: Named): Error {
  const has =
    waitingPerKey === 0
      ? `the maximum number of ${name} in progress`
      : `${waitingPerKey} ${name} waiting, which is the limit`;
  const message = `This workspace already has ${has}. Try again in a moment.`;
  return whyStuck?.() ?? new RateLimitedError('workspace_busy', message, { retryAfterS: 1 });
}

/** Returns the error for work that finds too much work of all keys. */
export function allTooMany({ name, whyStuck }: Named): Error {
  const message = `The maximum number of ${name} is already waiting. Try again in a moment.`;
  return whyStuck?.() ?? new UnavailableError('server_busy', message, { retryAfterS: 1 });
}

/**
 * Returns the error for work that waited too long. `isOwn`: work of its own key is ahead or holds its maximum.
 */
export function tooLate({ name, waitMsMax = 0, whyStuck }: Named, isOwn: boolean): Error {
  const waited = `did not start within ${waitMsMax / 1000} s`;
  const message = `${isOwn ? 'This workspace has' : 'There are'} so many ${name} in progress that this one ${waited}. Try again later.`;
  const late = { retryAfterS: lateRetryAfterS };
  if (isOwn) return whyStuck?.() ?? new RateLimitedError('workspace_busy', message, late);
  return whyStuck?.() ?? new UnavailableError('server_busy', message, late);
}
